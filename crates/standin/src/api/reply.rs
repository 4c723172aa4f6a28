//! Turns into HTTP responses.

use hyper::Response;
use hyper::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::chunk::{Chunk, ChunkContent, ChunkData};
use super::dialect::AnswerWriter;
use super::error::ApiError;
use super::playback::BodyPlayback;
use super::request::{ApiRequest, RequestKind};
use super::schema;
use super::turn::{BodyEnding, ModelSpeech, Turn, TurnAnswer};

const JSON: &str = "application/json; charset=UTF-8";
const EVENTS: &str = "text/event-stream";
const GREETING: &str = "Hello from the stand-in.";

/// Plays a turn.
pub(super) fn play_turn(turn: &Turn, request: &ApiRequest, id: &str) -> Response<BodyPlayback> {
    match &turn.answer {
        TurnAnswer::Speech(speech) if request.streams => response_with(
            200,
            EVENTS,
            streamed_reply(speech, turn.ending, request, id),
        ),
        TurnAnswer::Speech(speech) => {
            let object = in_one_piece(speech, request, id);
            response_with(200, JSON, ended_reply(object.to_string(), turn.ending))
        }
        TurnAnswer::Error(error) => {
            let body = ended_reply(request.dialect.error(error).to_string(), turn.ending);
            response_with(error.status, JSON, body)
        }
        TurnAnswer::Verbatim {
            status,
            content_type,
            body,
        } => response_with(
            *status,
            content_type,
            ended_reply(body.clone(), turn.ending),
        ),
    }
}

/// Answers what no script has an answer for.
pub(super) fn unscripted_reply(request: &ApiRequest, id: &str) -> Response<BodyPlayback> {
    match request.kind {
        RequestKind::Stream => play_turn(&Turn::text(GREETING), request, id),
        RequestKind::Generate => play_turn(&on_the_side(request), request, id),
        RequestKind::Count => {
            let tokens = request.body.to_string().len().div_ceil(4);
            object_reply(200, &request.dialect.count(tokens))
        }
        RequestKind::Embed => object_reply(200, &embeddings_body(&request.body)),
        RequestKind::Other if request.method == "GET" && !request.model.is_empty() => {
            object_reply(200, &model_body(&request.model))
        }
        RequestKind::Other if request.method == "GET" && request.path.contains("/models") => {
            object_reply(200, &json!({ "models": [model_body("stand-in")] }))
        }
        RequestKind::Other => {
            let asked = format!("{} {}", request.method, request.path);
            error_reply(
                &ApiError::new(404).message(format!("the stand-in does not know `{asked}`")),
            )
        }
    }
}

/// An error that is no turn of a script.
pub(super) fn error_reply(error: &ApiError) -> Response<BodyPlayback> {
    object_reply(error.status, &error.object())
}

/// The smallest JSON that fits, if JSON is asked for.
fn on_the_side(request: &ApiRequest) -> Turn {
    match request.dialect.schema_wanted(&request.body) {
        Some(schema) => Turn::text(schema::schema_instance(schema).to_string()),
        None => Turn::text(GREETING),
    }
}

fn streamed_reply(
    speech: &ModelSpeech,
    ending: BodyEnding,
    request: &ApiRequest,
    id: &str,
) -> BodyPlayback {
    let model = speech.model_version.as_deref().unwrap_or(&request.model);
    let mut voice = AnswerWriter::new(request.dialect, model, id);
    let mut body = BodyPlayback::default();
    for Chunk { delay, data } in speech.played(ending) {
        body.wait(delay);
        match data {
            ChunkData::Content(content) => body.send(voice.say(content)),
            ChunkData::Object(object) => body.send(format!("data: {object}\r\n\r\n")),
            ChunkData::Wire(text) => body.send(text),
        }
    }
    body.end(ending);
    if matches!(ending, BodyEnding::Complete | BodyEnding::Hang(Some(_))) {
        body.send(voice.end());
    }
    body
}

/// All chunks as one object; one that is an object already is the answer.
fn in_one_piece(speech: &ModelSpeech, request: &ApiRequest, id: &str) -> Value {
    let mut whole = ChunkContent::default();
    for chunk in speech.played(BodyEnding::Complete) {
        match chunk.data {
            ChunkData::Content(content) => whole.absorb(content),
            ChunkData::Object(object) => return object,
            ChunkData::Wire(_) => {} // only streams are made of such pieces
        }
    }
    let model = speech.model_version.as_deref().unwrap_or(&request.model);
    request.dialect.whole(whole, model, id)
}

fn ended_reply(bytes: String, ending: BodyEnding) -> BodyPlayback {
    let mut body = BodyPlayback::whole(bytes);
    body.end(ending);
    body
}

fn object_reply(status: u16, object: &Value) -> Response<BodyPlayback> {
    response_with(status, JSON, BodyPlayback::whole(object.to_string()))
}

fn response_with(status: u16, content_type: &str, body: BodyPlayback) -> Response<BodyPlayback> {
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, content_type)
        .body(body);
    response.unwrap_or_else(|_| {
        let error = format!(
            "the script asks for status {status}, type `{content_type}`, which HTTP does not have"
        );
        let error = ApiError::new(500).message(error);
        let mut response = Response::new(BodyPlayback::whole(error.object().to_string()));
        *response.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

fn embeddings_body(body: &Value) -> Value {
    let embedding = json!({ "values": vec![0.125; 8] });
    match body.get("requests").and_then(Value::as_array) {
        Some(requests) => json!({ "embeddings": vec![embedding; requests.len()] }),
        None => json!({ "embedding": embedding }),
    }
}

fn model_body(name: &str) -> Value {
    json!({
        "name": format!("models/{name}"),
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    })
}
