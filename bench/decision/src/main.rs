//! Measures one decision, beside governor and limitador in the same run.
//!
//! `decision [OUT.json]` runs every part in a process of its own, so that memory is counted clean; prints what it
//! found with the ratio that matters, and writes the same as JSON. `decision --part NAME` runs one part.

mod exact;
mod flood;
mod growth;
mod machine;
mod memory;
mod sketch;
mod speed;
mod workload;

use std::process::{Command, ExitCode};

use serde_json::{Map, Value, json};

const PARTS: [(&str, fn() -> Value); 6] = [
    ("speed", speed::measure),
    ("memory", memory::measure),
    ("growth", growth::measure),
    ("exact", exact::measure),
    ("flood_of_two_networks", flood::of_two_networks),
    ("flood_from_everywhere", flood::from_everywhere),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = arguments.as_slice()
        && flag == "--part"
    {
        return match PARTS.iter().find(|(part, _)| part == name) {
            Some((_, measure)) => {
                println!("{}", measure());
                ExitCode::SUCCESS
            }
            None => ExitCode::from(2),
        };
    }
    let out = arguments.first().map_or("decision.json", String::as_str);
    match run_all() {
        Ok(results) => report(&results, out),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run_all() -> Result<Map<String, Value>, Box<dyn std::error::Error>> {
    let this = std::env::current_exe()?;
    let mut results = Map::new();
    for (name, _) in PARTS {
        let output = Command::new(&this).args(["--part", name]).output()?;
        if !output.status.success() {
            return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        results.insert(name.to_owned(), serde_json::from_slice(&output.stdout)?);
    }
    Ok(results)
}

/// The targets: where the figure is, what it must be.
fn targets(results: &Map<String, Value>) -> Vec<(String, f64, &'static str, f64, bool)> {
    let get = |part: &str, name: &str| results[part][name].as_f64().unwrap_or(f64::NAN);
    let mut targets = Vec::new();
    let mut at_most = |name: &str, value: f64, limit: f64| {
        targets.push((name.to_owned(), value, "<=", limit, value <= limit));
    };
    at_most(
        "ns a decision, 100,000 counters, one thread",
        get("speed", "zonai_100k_ns"),
        20.0,
    );
    at_most(
        "of the time of the sketch, 100,000 counters (20 of its 19 ns)",
        get("speed", "ratio_to_sketch_100k"),
        1.05,
    );
    at_most(
        "of governor's time as shipped, 100,000 counters",
        get("speed", "ratio_to_governor_100k"),
        0.5,
    );
    at_most(
        "of one thread's time per operation, two threads",
        get("speed", "zonai_two_threads_ns") / get("speed", "zonai_100k_ns"),
        1.0,
    );
    at_most("bytes an entry", get("memory", "entry_bytes"), 24.0);
    at_most(
        "bytes of RSS a counter, 1,000,000 counters",
        get("memory", "zonai_rss_per_counter"),
        64.0,
    );
    at_most(
        "ms the slowest of 10,000,000 while growing (cpu)",
        get("growth", "slowest_cpu_ms"),
        5.0,
    );
    at_most(
        "admissions too many in 300 rounds per thread count",
        get("exact", "zonai_wrong"),
        0.0,
    );
    for flood in ["flood_of_two_networks", "flood_from_everywhere"] {
        at_most(
            "MiB of RSS in a flood of 5,000,000 addresses",
            get(flood, "rss_mib"),
            64.0,
        );
        at_most(
            "admissions of the blocked client in the flood",
            get(flood, "blocked_admitted"),
            0.0,
        );
        at_most(
            "refusals of a client of another network",
            get(flood, "other_network_refused"),
            0.0,
        );
        at_most(
            "ms the slowest decision of the flood (cpu)",
            get(flood, "slowest_cpu_ms"),
            5.0,
        );
    }
    targets
}

fn report(results: &Map<String, Value>, out: &str) -> ExitCode {
    for (part, values) in results {
        println!("{part}");
        for (name, value) in values.as_object().into_iter().flatten() {
            println!("  {name:<40} {value}");
        }
    }
    println!("targets");
    let targets = targets(results);
    for (name, value, sign, limit, met) in &targets {
        println!(
            "  {} {name:<58} {value:>8.2} {sign} {limit}",
            if *met { "ok  " } else { "MISS" }
        );
    }
    let met = targets.iter().all(|target| target.4);
    let listed: Vec<Value> = targets
        .iter()
        .map(|(name, value, _, limit, met)| json!({ "what": name, "value": value, "at_most": limit, "met": met }))
        .collect();
    let mut all = results.clone();
    all.insert("targets".to_owned(), Value::Array(listed));
    if let Err(error) = std::fs::write(out, format!("{:#}\n", Value::Object(all))) {
        eprintln!("{out}: {error}");
        return ExitCode::FAILURE;
    }
    if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    }
}
