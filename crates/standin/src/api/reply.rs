//! Turns into HTTP responses.

use hyper::Response;
use hyper::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::chunk::{Chunk, Content, Data};
use super::dialect::Voice;
use super::error::ApiError;
use super::playback::Playback;
use super::request::{Kind, Request};
use super::schema;
use super::turn::{Answer, Ending, Speech, Turn};

const JSON: &str = "application/json; charset=UTF-8";
const EVENTS: &str = "text/event-stream";
const GREETING: &str = "Hello from the stand-in.";

/// Plays a turn.
pub(super) fn play(turn: &Turn, request: &Request, id: &str) -> Response<Playback> {
    match &turn.answer {
        Answer::Speech(speech) if request.streams => {
            respond(200, EVENTS, streamed(speech, turn.ending, request, id))
        }
        Answer::Speech(speech) => {
            let object = in_one_piece(speech, request, id);
            respond(200, JSON, ended(object.to_string(), turn.ending))
        }
        Answer::Error(error) => {
            let body = ended(request.dialect.error(error).to_string(), turn.ending);
            respond(error.status, JSON, body)
        }
        Answer::Verbatim {
            status,
            content_type,
            body,
        } => respond(*status, content_type, ended(body.clone(), turn.ending)),
    }
}

/// Answers what no script has an answer for.
pub(super) fn unscripted(request: &Request, id: &str) -> Response<Playback> {
    match request.kind {
        Kind::Stream => play(&Turn::text(GREETING), request, id),
        Kind::Generate => play(&on_the_side(request), request, id),
        Kind::Count => {
            let tokens = request.body.to_string().len().div_ceil(4);
            object(200, &request.dialect.count(tokens))
        }
        Kind::Embed => object(200, &embeddings(&request.body)),
        Kind::Other if request.method == "GET" && !request.model.is_empty() => {
            object(200, &model(&request.model))
        }
        Kind::Other if request.method == "GET" && request.path.contains("/models") => {
            object(200, &json!({ "models": [model("stand-in")] }))
        }
        Kind::Other => {
            let asked = format!("{} {}", request.method, request.path);
            failed(&ApiError::new(404).message(format!("the stand-in does not know `{asked}`")))
        }
    }
}

/// An error that is no turn of a script.
pub(super) fn failed(error: &ApiError) -> Response<Playback> {
    object(error.status, &error.object())
}

/// The smallest JSON that fits, if JSON is asked for.
fn on_the_side(request: &Request) -> Turn {
    match request.dialect.schema_wanted(&request.body) {
        Some(schema) => Turn::text(schema::instance(schema).to_string()),
        None => Turn::text(GREETING),
    }
}

fn streamed(speech: &Speech, ending: Ending, request: &Request, id: &str) -> Playback {
    let model = speech.model_version.as_deref().unwrap_or(&request.model);
    let mut voice = Voice::new(request.dialect, model, id);
    let mut body = Playback::default();
    for Chunk { delay, data } in speech.played(ending) {
        body.wait(delay);
        match data {
            Data::Content(content) => body.send(voice.say(content)),
            Data::Object(object) => body.send(format!("data: {object}\r\n\r\n")),
            Data::Wire(text) => body.send(text),
        }
    }
    body.end(ending);
    if matches!(ending, Ending::Complete | Ending::Hang(Some(_))) {
        body.send(voice.end());
    }
    body
}

/// All chunks as one object; one that is an object already is the answer.
fn in_one_piece(speech: &Speech, request: &Request, id: &str) -> Value {
    let mut whole = Content::default();
    for chunk in speech.played(Ending::Complete) {
        match chunk.data {
            Data::Content(content) => whole.absorb(content),
            Data::Object(object) => return object,
            Data::Wire(_) => {} // only streams are made of such pieces
        }
    }
    let model = speech.model_version.as_deref().unwrap_or(&request.model);
    request.dialect.whole(whole, model, id)
}

fn ended(bytes: String, ending: Ending) -> Playback {
    let mut body = Playback::whole(bytes);
    body.end(ending);
    body
}

fn object(status: u16, object: &Value) -> Response<Playback> {
    respond(status, JSON, Playback::whole(object.to_string()))
}

fn respond(status: u16, content_type: &str, body: Playback) -> Response<Playback> {
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, content_type)
        .body(body);
    response.unwrap_or_else(|_| {
        let error = format!(
            "the script asks for status {status}, type `{content_type}`, which HTTP does not have"
        );
        let error = ApiError::new(500).message(error);
        let mut response = Response::new(Playback::whole(error.object().to_string()));
        *response.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

fn embeddings(body: &Value) -> Value {
    let embedding = json!({ "values": vec![0.125; 8] });
    match body.get("requests").and_then(Value::as_array) {
        Some(requests) => json!({ "embeddings": vec![embedding; requests.len()] }),
        None => json!({ "embedding": embedding }),
    }
}

fn model(name: &str) -> Value {
    json!({
        "name": format!("models/{name}"),
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    })
}
