//! Lists that come page by page.

use std::collections::VecDeque;

use futures_util::{Stream, stream};

use crate::error::Result;

struct Pages<T> {
    items: VecDeque<T>,
    /// The token of the next page. None: there is none.
    next: Option<String>,
}

/// The items of all pages. `fetch` gets the token of a page, and gives its items and the next token.
pub(crate) fn pages<T, F, Fut>(fetch: F) -> impl Stream<Item = Result<T>> + Send
where
    T: Send,
    F: Fn(String) -> Fut + Send,
    Fut: Future<Output = Result<(Vec<T>, String)>> + Send,
{
    let start = Pages {
        items: VecDeque::new(),
        next: Some(String::new()),
    };
    stream::try_unfold((start, fetch), |(mut pages, fetch)| async move {
        loop {
            if let Some(item) = pages.items.pop_front() {
                return Ok(Some((item, (pages, fetch))));
            }
            let Some(token) = pages.next.take() else {
                return Ok(None);
            };
            let (items, next) = fetch(token).await?;
            pages.items = items.into();
            pages.next = Some(next).filter(|next| !next.is_empty());
        }
    })
}
