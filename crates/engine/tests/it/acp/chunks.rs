//! However the bytes are cut, they say the same.

use lapidary_engine::acp::ConnectionLimits;
use proptest::prelude::*;

use super::peer::{connected, outline};

const LINES: [&[u8]; 12] = [
    b"{\"id\":0,\"method\":\"unknown\",\"params\":{\"a\":1.10}}\n",
    b"{\"method\":\"update\",\"params\":[\"\xe2\x80\xa8 \xc3\xbc\"]}\r\n",
    b"{\"id\":4,\"result\":null}\n",
    b"banner \xff\xfe\n",
    b"\n",
    b"\r\n",
    b"[1,2]\n",
    b"{\"method\":\"half\n",
    b"{\"id\":\"a\",\"error\":{\"code\":1,\"message\":\"m\"}}\n",
    b"a line that is longer than what is allowed here: it has more than a hundred bytes, which is easily counted\n",
    b"\xef\xbb\xbf17\n",
    b"the last one has no end",
];

fn received(chunks: Vec<Vec<u8>>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let limits = ConnectionLimits {
            line: 100,
            ..ConnectionLimits::default()
        };
        let (mut connected, mut agent) = connected(&[], limits);
        for chunk in chunks {
            agent.says(chunk).await;
            tokio::task::yield_now().await; // so that it is read as one
        }
        drop(agent);
        let mut all = outline(&mut connected.observer).await;
        all.retain(|line| line.starts_with('<'));
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_chunking_gives_the_same(
        order in prop::collection::vec(0..LINES.len() - 1, 1..30),
        sizes in prop::collection::vec(1_usize..40, 1..50),
    ) {
        let mut bytes: Vec<u8> = order.iter().flat_map(|line| LINES[*line]).copied().collect();
        bytes.extend_from_slice(LINES[LINES.len() - 1]);
        let whole = received(vec![bytes.clone()]);
        prop_assert_eq!(whole.len(), order.len() + 1);
        let mut rest = bytes.as_slice();
        let mut chunks = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, behind) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk.to_vec());
            rest = behind;
        }
        prop_assert_eq!(received(chunks), whole);
    }
}
