//! Rates of a store, for `cargo xtask bench --only fleet`. Prints numbers, and nothing else.
//!
//! ```text
//! rates init STORE                        makes the tables
//! rates lifecycles STORE CLIENTS SECONDS  tickets: submitted, claimed, kept by a heartbeat, finished
//! rates appends STORE CLIENTS SECONDS     events
//! rates claims STORE                      milliseconds of a claim: the median, and 99 of 100
//! rates fill STORE FIRST LAST             adds tickets that have ended, of these numbers
//! rates idle STORE WORKERS SECONDS        transactions of workers that have nothing to do
//! ```
//!
//! Each client has connections of its own, as a process of its own would have.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program that measures reads its arguments and prints"
)]

mod claims;
mod clients;
mod fill;
mod idle;

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use lapidary_fleet::StoreAddress;

type Failed = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), Failed> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let address = |store: &str| StoreAddress::parse(store, Path::new("."));
    match args.as_slice() {
        ["init", store] => {
            address(store)?.initialise().await?;
        }
        ["lifecycles", store, clients, time] => {
            let plan = (clients.parse()?, seconds(time)?);
            let done = clients::count_all(&address(store)?, plan, clients::lifecycles).await?;
            println!("{done}");
        }
        ["appends", store, clients, time] => {
            let plan = (clients.parse()?, seconds(time)?);
            let done = clients::count_all(&address(store)?, plan, clients::appends).await?;
            println!("{done}");
        }
        ["claims", store] => {
            let (median, rare) = claims::latency(&address(store)?).await?;
            println!("{median:.3} {rare:.3}");
        }
        ["fill", store, first, last] => {
            fill::add_finished(&address(store)?, first.parse()?, last.parse()?).await?;
        }
        ["idle", store, workers, time] => {
            let done = idle::transactions(store, workers.parse()?, seconds(time)?).await?;
            println!("{done}");
        }
        _ => return Err("usage: see the head of this program".into()),
    }
    Ok(())
}

fn seconds(text: &str) -> Result<Duration, Failed> {
    Ok(Duration::from_secs(text.parse()?))
}
