//! Makes the Rust stubs: `holdfast-generator DESCRIPTOR_SET OUT_FOLDER`. Needs no protoc.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;
use prost_types::FileDescriptorSet;

/// The packages of the stubs, and the package that they need. Its types come from prost-types.
const PACKAGES: [&str; 3] = ["holdfast.v1", "google.rpc", "google.protobuf"];

fn main() -> Result<(), Box<dyn Error>> {
    let [descriptors, out]: [PathBuf; 2] = std::env::args_os()
        .skip(1)
        .map(PathBuf::from)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "the arguments are a descriptor set and a folder")?;
    let mut set = FileDescriptorSet::decode(std::fs::read(descriptors)?.as_slice())?;
    set.file.retain(|file| PACKAGES.contains(&file.package()));
    tonic_prost_build::configure()
        .build_server(false)
        // Otherwise the stubs would bring the HTTP/2 transport to programs that have another.
        .build_transport(false)
        .btree_map(".")
        .out_dir(out)
        .compile_fds(set)?;
    Ok(())
}
