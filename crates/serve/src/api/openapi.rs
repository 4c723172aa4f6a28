//! The `OpenAPI` document (3.1): the routes, and the schemas that `lapidary schema` prints.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use lapidary::vocab::schema::PUBLISHED;
use serde_json::{Map, Value, json};

use crate::request_parts::{NoParameters, StrictQuery};

/// An operation of the API.
struct Operation {
    path: &'static str,
    method: &'static str,
    id: &'static str,
    summary: &'static str,
    /// Parameters of the query.
    query: &'static [&'static str],
    /// The schema of the body, by its name below `components`.
    body: Option<&'static str>,
    /// The statuses of a response that is no error, between spaces.
    status: &'static str,
    kind: &'static str,
    /// The schema of the response, by its name.
    response: Option<&'static str>,
}

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";

macro_rules! operations {
    ($($method:literal $path:literal $id:literal ($($query:literal)*) $body:expr => $status:literal $kind:expr, $response:expr; $summary:literal)*) => {
        &[$(Operation {
            path: $path,
            method: $method,
            id: $id,
            summary: $summary,
            query: &[$($query),*],
            body: $body,
            status: $status,
            kind: $kind,
            response: $response,
        }),*]
    };
}

const OPERATIONS: &[Operation] = operations! {
    "get" "/api/v1/runs" "listRuns" ("limit" "cursor" "agent") None => "200" JSON, Some("runs"); "Runs of this server and all recorded ones"
    "post" "/api/v1/runs" "startRun" () Some("NewRun") => "201 200" JSON, Some("StartedRun"); "Start a run. With the `requestKey` of an earlier request: 200 and its run"
    "get" "/api/v1/runs/{id}" "getRun" () None => "200" JSON, Some("Run"); "One run, with its result when it has ended"
    "get" "/api/v1/runs/{id}/events" "watchRun" ("after" "format") None => "200" LINES, Some("events"); "The events of a run, until its end"
    "post" "/api/v1/runs/{id}/commands" "sendCommand" () Some("commands") => "200" JSON, Some("events"); "Send one command; the response is its command_result"
    "post" "/api/v1/runs/{id}/stop" "stopRun" () None => "202" JSON, None; "End a run"
    "post" "/api/v1/runs/{id}/close" "closeRun" () None => "202" JSON, None; "Let a conversation end when its work is done"
    "get" "/api/v1/permissions" "listPermissions" () None => "200" JSON, Some("OpenPermissions"); "Every open permission request and elicitation"
    "post" "/api/v1/runs/{id}/permissions/{requestId}" "answerPermission" () Some("PermissionReply") => "200" JSON, Some("events"); "Answer a permission request; the response is its permission_decision"
    "get" "/api/v1/sessions" "listSessions" ("q" "agent" "project" "since" "limit" "cursor") None => "200" JSON, Some("sessions"); "Sessions of all agents, or those that a search finds"
    "get" "/api/v1/sessions/{id}" "getSession" ("format") None => "200" LINES, Some("events"); "One session"
    "get" "/api/v1/fleet" "getFleet" () None => "200" JSON, Some("fleet-overview"); "Queue, lanes, workers and open permission requests of the fleet"
    "get" "/api/v1/fleet/permissions" "listFleetPermissions" () None => "200" JSON, Some("FleetPermissions"); "Open permission requests of all tickets, as markup"
    "get" "/api/v1/fleet/tickets" "listTickets" ("state" "lane" "before" "limit") None => "200" JSON, Some("fleet-tickets"); "Tickets, newest first"
    "get" "/api/v1/fleet/tickets/{id}" "getTicket" () None => "200" JSON, Some("fleet-ticket"); "One ticket with its attempts"
    "get" "/api/v1/fleet/tickets/{id}/events" "getTicketEvents" ("attempt" "format") None => "200" LINES, Some("events"); "The events of a ticket so far"
    "post" "/api/v1/fleet/tickets/{id}/cancel" "cancelTicket" () Some("TicketCancellation") => "200" JSON, Some("fleet-change"); "Order the end of a ticket"
    "post" "/api/v1/fleet/tickets/{id}/permissions/{requestId}" "answerTicket" () Some("TicketReply") => "200" JSON, Some("fleet-change"); "Answer a permission request of a ticket"
    "get" "/api/v1/agents" "listAgents" () None => "200" JSON, Some("agents"); "Agent programs and definitions"
    "get" "/api/v1/stats" "getStats" () None => "200" JSON, Some("stats"); "Tokens, cost, tools"
    "get" "/api/v1/doctor" "getDoctor" ("agent") None => "200" JSON, Some("doctor"); "The state of the installation"
    "get" "/api/v1/capabilities" "getCapabilities" () None => "200" LINES, Some("capabilities"); "The abilities of each agent"
    "get" "/api/v1/schemas" "listSchemas" () None => "200" JSON, None; "All schemas"
    "get" "/api/v1/schemas/{name}" "getSchema" () None => "200" JSON, None; "One schema"
    "get" "/metrics" "getMetrics" () None => "200" "text/plain", None; "Numbers for Prometheus"
};

/// The document.
pub(crate) async fn document(_: StrictQuery<NoParameters>) -> Response {
    let headers = [(header::CONTENT_TYPE, JSON)];
    (StatusCode::OK, headers, openapi().to_string()).into_response()
}

fn openapi() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = operation_object(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Lapidary", "version": env!("CARGO_PKG_VERSION"), "description": "Runs of coding agents, their permission requests and sessions."},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas(),
        },
    })
}

fn operation_object(operation: &Operation) -> Value {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let names = operation.path.split('{').skip(1);
    let names = names.filter_map(|part| part.split('}').next());
    let in_path = names.map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let in_query = operation
        .query
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}));
    let parameters: Vec<_> = in_path.chain(in_query).collect();
    let schema = operation.response.map_or_else(|| json!({}), reference);
    let mut responses = json!({
        "default": {"description": "An error", "content": {"application/problem+json": {"schema": reference("Problem")}}},
    });
    for status in operation.status.split(' ') {
        responses[status] = json!({
            "description": operation.summary,
            "content": {operation.kind: {"schema": schema}},
        });
    }
    let mut object = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(body) = operation.body {
        object["requestBody"] =
            json!({"required": true, "content": {JSON: {"schema": reference(body)}}});
    }
    object
}

fn schemas() -> Value {
    let mut schemas = own_schemas();
    for published in PUBLISHED {
        let Ok(mut schema) = serde_json::from_str(published.text) else {
            continue;
        };
        move_references(
            &mut schema,
            &format!("#/components/schemas/{}", published.name),
        );
        schemas[published.name] = schema;
    }
    schemas
}

/// References within a schema become references within the document. Its own id and dialect are those of the document.
fn move_references(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(members) => {
            members.remove("$schema");
            members.remove("$id");
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(rest) = reference.strip_prefix('#')
            {
                *reference = format!("{place}{rest}");
            }
            members
                .values_mut()
                .for_each(|member| move_references(member, place));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| move_references(item, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The schemas of bodies that only HTTP has.
fn own_schemas() -> Value {
    let text = json!({"type": "string"});
    json!({
        "NewRun": {
            "type": "object",
            "additionalProperties": false,
            "required": ["prompt"],
            "properties": {
                "prompt": text, "agent": text, "cwd": text, "budget": text, "requestKey": text,
                "permissionMode": {"enum": ["plan", "default", "acceptEdits", "bypassPermissions"]},
                "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds"},
                "conversation": {"type": "boolean", "description": "The run stays open for more prompts"},
                "rules": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {"deny": {"type": "array", "items": text}, "ask": {"type": "array", "items": text}},
                },
            },
        },
        "Run": {
            "type": "object",
            "required": ["run", "isServed", "openPermissions"],
            "properties": {
                "run": {"$ref": "#/components/schemas/runs/$defs/RunInfo"},
                "isServed": {"type": "boolean", "description": "It is one of this server, which takes its commands"},
                "openPermissions": {"type": "integer"},
                "prompt": text,
                "isOpen": {"type": "boolean", "description": "It takes more prompts"},
                "result": {"$ref": "#/components/schemas/result"},
            },
        },
        "StartedRun": {
            "allOf": [{"$ref": "#/components/schemas/Run"}],
            "required": ["id", "url"],
            "properties": {"id": text, "url": text},
        },
        "PermissionReply": {
            "type": "object",
            "additionalProperties": false,
            "required": ["allowed"],
            "properties": {"allowed": {"type": "boolean"}, "message": text, "updatedInput": {}, "forRun": {"type": "boolean"}},
        },
        "OpenPermissions": {
            "type": "object",
            "required": ["permissions", "elicitations"],
            "properties": {
                "permissions": {"type": "array", "items": {
                    "type": "object",
                    "required": ["runId", "request", "html"],
                    "properties": {"runId": text, "request": {"$ref": "#/components/schemas/events"}, "html": text},
                }},
                "elicitations": {"type": "array", "items": {
                    "type": "object",
                    "required": ["runId", "request"],
                    "properties": {"runId": text, "request": {"$ref": "#/components/schemas/events"}},
                }},
            },
        },
        "FleetPermissions": {
            "type": "object",
            "required": ["permissions"],
            "properties": {"problem": text, "permissions": {"type": "array", "items": {
                "type": "object",
                "required": ["ticket", "runId", "askedAt", "request", "html"],
                "properties": {
                    "ticket": text, "runId": text, "askedAt": text,
                    "request": {"$ref": "#/components/schemas/events"}, "html": text,
                },
            }}},
        },
        "TicketReply": {
            "type": "object",
            "additionalProperties": false,
            "required": ["allowed"],
            "properties": {"allowed": {"type": "boolean"}, "message": text},
        },
        "TicketCancellation": {
            "type": "object",
            "additionalProperties": false,
            "properties": {"why": text, "now": {"type": "boolean", "description": "Kill the agent at once"}},
        },
        "Problem": {
            "type": "object",
            "required": ["title", "status", "detail"],
            "properties": {"type": text, "title": text, "status": {"type": "integer"}, "detail": text, "hint": text},
        },
    })
}
