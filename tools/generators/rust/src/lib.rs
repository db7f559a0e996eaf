//! The messages and client stubs of the Holdfast contract, made from its proto files.
//!
//! The crate `holdfast-client` keeps the rules of sessions and deadlines. A program that uses these
//! stubs alone keeps the rules itself.

#![allow(rustdoc::all, clippy::all)]

/// Locks, semaphores, autocomplete, sessions.
pub mod holdfast {
    pub mod v1 {
        include!("holdfast.v1.rs");
    }
}

/// The details of an error.
pub mod google {
    pub mod rpc {
        include!("google.rpc.rs");
    }
}
