//! Elections, recents and dictionaries.

use std::sync::Arc;

use holdfast_client::{
    Dictionary, DictionaryProfile, Entry, Leader, Recent, SuggestOptions, Suggestion,
};
use serde_json::{Value, json};
use tokio_stream::StreamExt;

use crate::desk::{Desk, Fields, Reply};
use crate::failures::Failure;

/// None: there is no such command.
pub async fn run(verb: &str, desk: &Arc<Desk>, fields: &Fields) -> Option<Reply> {
    let reply = match verb {
        "leader" => leader(desk, fields).await,
        "observe" => observe(desk, fields).await,
        "add_recent" => add_recent(desk, fields).await,
        "suggest_recents" => suggest_recents(desk, fields).await,
        "create_dictionary" => create(desk, fields).await,
        "put" => put(desk, fields).await,
        "import" => import(desk, fields).await,
        "suggest" => suggest(desk, fields).await,
        "suggest_all" => suggest_all(desk, fields).await,
        "record_selection" => record_selection(desk, fields).await,
        "delete_dictionary" => delete(desk, fields).await,
        "type_ahead" => type_ahead(desk, fields),
        "type" => type_query(desk, fields).await,
        _ => return None,
    };
    Some(reply)
}

async fn leader(desk: &Desk, fields: &Fields) -> Reply {
    let leader = desk
        .client(fields)?
        .election(fields.text("election"))
        .leader()
        .await?;
    let shown = leader.map(|leader: Leader| {
        json!({ "value": leader.value, "token": leader.fencing_token.to_string() })
    });
    Ok(json!({ "leader": shown }))
}

async fn observe(desk: &Desk, fields: &Fields) -> Reply {
    let mut leaders = desk
        .client(fields)?
        .election(fields.text("election"))
        .observe();
    while let Some(leader) = leaders.next().await {
        let value = leader?.map(|leader| leader.value);
        desk.tell(json!({ "event": "leader", "of": fields.0["id"], "value": value }));
    }
    Ok(json!({ "cancelled": true }))
}

async fn add_recent(desk: &Desk, fields: &Fields) -> Reply {
    let mut recent = Recent::new(fields.text("text"));
    if let Some(id) = fields.0["entry_id"].as_str() {
        recent = recent.entry_id(id);
    }
    desk.client(fields)?
        .recents(fields.text("list"))
        .add(recent)
        .await?;
    Ok(json!({ "ok": true }))
}

async fn suggest_recents(desk: &Desk, fields: &Fields) -> Reply {
    let recents = desk.client(fields)?.recents(fields.text("list"));
    Ok(shown(
        recents
            .suggest_with(fields.text("query"), &options(fields))
            .await?,
    ))
}

fn dictionary(desk: &Desk, fields: &Fields) -> Result<Dictionary, Failure> {
    Ok(desk.client(fields)?.dictionary(fields.text("dictionary")))
}

async fn create(desk: &Desk, fields: &Fields) -> Reply {
    dictionary(desk, fields)?
        .create(DictionaryProfile::new())
        .await?;
    Ok(json!({ "ok": true }))
}

async fn put(desk: &Desk, fields: &Fields) -> Reply {
    dictionary(desk, fields)?.put(entries(fields)).await?;
    Ok(json!({ "ok": true }))
}

async fn import(desk: &Desk, fields: &Fields) -> Reply {
    dictionary(desk, fields)?
        .import(entries(fields), None)
        .await?;
    Ok(json!({ "ok": true }))
}

async fn suggest(desk: &Desk, fields: &Fields) -> Reply {
    let dictionary = dictionary(desk, fields)?;
    Ok(shown(
        dictionary
            .suggest_with(fields.text("query"), &options(fields))
            .await?,
    ))
}

async fn suggest_all(desk: &Desk, fields: &Fields) -> Reply {
    let size = fields.number("page_size").map(|size| size as u32);
    let options = size
        .into_iter()
        .fold(SuggestOptions::new(), SuggestOptions::limit);
    let all = dictionary(desk, fields)?.suggest_all(fields.text("query"), &options);
    let mut all = std::pin::pin!(all);
    let mut found = Vec::new();
    while let Some(one) = all.next().await {
        found.push(one?);
    }
    Ok(shown(found))
}

async fn record_selection(desk: &Desk, fields: &Fields) -> Reply {
    dictionary(desk, fields)?
        .record_selection(fields.text("entry_id"), 1)
        .await?;
    Ok(json!({ "ok": true }))
}

async fn delete(desk: &Desk, fields: &Fields) -> Reply {
    dictionary(desk, fields)?.delete().await?;
    Ok(json!({ "ok": true }))
}

fn type_ahead(desk: &Desk, fields: &Fields) -> Reply {
    let mut input = dictionary(desk, fields)?.type_ahead(SuggestOptions::new());
    if let Some(time) = fields.time("debounce_ms") {
        input = input.debounce(time);
    }
    desk.add_input(fields.text("as"), input);
    Ok(json!({ "opened": true }))
}

async fn type_query(desk: &Desk, fields: &Fields) -> Reply {
    let input = desk.input(fields.text("as"));
    let input = input.ok_or_else(|| Failure::other("there is no such type-ahead"))?;
    Ok(match input.suggest(fields.text("query")).await? {
        Some(suggestions) => shown(suggestions),
        None => json!({ "superseded": true }),
    })
}

fn options(fields: &Fields) -> SuggestOptions {
    let limit = fields.number("limit").map(|limit| limit as u32);
    limit
        .into_iter()
        .fold(SuggestOptions::new(), SuggestOptions::limit)
}

fn entries(fields: &Fields) -> Vec<Entry> {
    let list = fields.0["entries"].as_array().into_iter().flatten();
    list.map(|one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let weight = text("weight").parse().unwrap_or_default();
        Entry::new(text("entry_id"), text("text")).weight(weight)
    })
    .collect()
}

fn shown(suggestions: Vec<Suggestion>) -> Value {
    let list: Vec<Value> = suggestions
        .into_iter()
        .map(|one| json!({ "entry_id": one.entry_id, "text": one.text }))
        .collect();
    json!({ "suggestions": list })
}
