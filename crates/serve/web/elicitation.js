// @ts-check
// Elicitations: an agent asks the user to fill in a form or to open a page. Everything in them is the agent's, so it is set as text.

import { ApiError, post } from "/api.js";
import { element, problem, select } from "/markup.js";
import { requestHead } from "/origin.js";

/** @typedef {import("./types").FieldSchema} FieldSchema */
/** The control of a field, and its value; undefined if it is left out. @typedef {{ row: HTMLElement, value: () => unknown }} Field */

/**
 * @param {import("./types").OpenElicitation} elicitation
 * @param {() => Promise<void>} answered
 */
export function elicitationCard({ request, runId }, answered) {
  const known = fieldsOf(`${runId}-${request.requestId}`, request.requestedSchema);
  const fields = known ?? [];
  const message = element("div", { role: "status" }, known ? null : problem("The form cannot be shown: its schema is malformed."));
  const accept = element(
    "button",
    { type: "submit", class: "primary", disabled: !known },
    request.mode === "url" ? "I have opened it" : "Send",
  );
  const decline = element(
    "button",
    { type: "button", class: "danger", "data-key": "d", onclick: () => answer("decline") },
    "Decline",
  );
  const card = element(
    "form",
    {
      class: "ask",
      tabindex: "0",
      "data-keys": true,
      "aria-label": `Question: ${request.message}`,
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        answer("accept");
      },
    },
    requestHead(request.provider, [" asks you"], `runs/${runId}`),
    element("p", { class: "typed" }, String(request.message)),
    request.url ? addressOf(String(request.url)) : null,
    element("div", { class: "form-fields" }, ...fields.map(([, field]) => field.row)),
    message,
    element("div", { class: "buttons" }, accept, decline),
  );

  /** @param {"accept" | "decline"} action */
  async function answer(action) {
    accept.disabled = decline.disabled = true;
    const values = fields
      .map(([name, field]) => /** @type {const} */ ([name, field.value()]))
      .filter(([, value]) => value !== undefined);
    const content = action === "accept" && request.mode !== "url" ? { content: Object.fromEntries(values) } : {};
    try {
      const result = await post(`/api/v1/runs/${runId}/commands`, {
        command: "elicitation_response",
        requestId: request.requestId,
        action,
        ...content,
      });
      if (result.isError) throw new Error(result.message);
      await answered();
    } catch (error) {
      accept.disabled = !known;
      decline.disabled = false;
      message.replaceChildren(
        problem(error instanceof Error ? error.message : String(error), error instanceof ApiError ? error.hint : undefined),
      );
    }
  }
  return card;
}

/**
 * The names and controls of a form; none if its schema is malformed. A form that throws here would take the requests of all other
 * runs off the page.
 * @param {string} id
 * @param {unknown} requestedSchema
 * @returns {[string, Field][] | undefined}
 */
function fieldsOf(id, requestedSchema) {
  const schema = /** @type {{ properties?: Record<string, FieldSchema>, required?: string[] } | undefined} */ (requestedSchema);
  try {
    const fields = Object.entries(schema?.properties ?? {});
    return fields.map(([name, field]) => [
      name,
      formField(`${id}-${name}`, name, field, schema?.required?.includes(name) ?? false),
    ]);
  } catch {
    return undefined;
  }
}

/** A page that the agent wants opened. The whole address is shown, and nothing opens by itself. @param {string} url */
function addressOf(url) {
  const isWeb = /^https?:\/\//i.test(url);
  return element(
    "p",
    { class: "address" },
    isWeb ? element("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, url) : element("code", {}, url),
  );
}

/**
 * @param {string} id
 * @param {string} name
 * @param {FieldSchema} schema
 * @param {boolean} required
 * @returns {Field}
 */
function formField(id, name, schema, required) {
  const label = schema.title ?? name;
  const note = schema.description ? element("small", {}, schema.description) : null;
  const labelled = (/** @type {HTMLElement} */ control) =>
    element("label", { class: "field", for: id }, element("span", {}, label, required ? " *" : ""), control, note);
  const choices = choicesOf(schema);
  if (schema.type === "boolean") {
    const box = element("input", { id, type: "checkbox", checked: schema.default === true });
    return { row: element("label", { class: "check", for: id }, box, " ", label, note), value: () => box.checked };
  }
  if (schema.type === "array") {
    const chosen = Array.isArray(schema.default) ? schema.default : [];
    const boxes = choicesOf(schema.items ?? {}).map(
      ([value, text]) =>
        /** @type {const} */ ([element("input", { type: "checkbox", value, checked: chosen.includes(value) }), text]),
    );
    const row = element(
      "fieldset",
      {},
      element("legend", {}, label),
      ...boxes.map(([box, text]) => element("label", { class: "check" }, box, " ", text)),
      note,
    );
    return { row, value: () => boxes.filter(([box]) => box.checked).map(([box]) => box.value) };
  }
  if (choices.length) {
    const list = select({ id, required }, [["", "choose…"], ...choices]);
    if (typeof schema.default === "string") list.value = schema.default;
    return { row: labelled(list), value: () => list.value || undefined };
  }
  const isNumber = schema.type === "number" || schema.type === "integer";
  const kinds = /** @type {Record<string, string>} */ ({ email: "email", uri: "url", date: "date" });
  const input = element("input", {
    id,
    required,
    type: isNumber ? "number" : (kinds[schema.format ?? ""] ?? "text"),
    value: schema.default,
    step: isNumber ? (schema.type === "integer" ? 1 : "any") : undefined,
    min: schema.minimum,
    max: schema.maximum,
    minlength: schema.minLength,
    maxlength: schema.maxLength,
    autocomplete: "off",
  });
  return { row: labelled(input), value: () => (input.value === "" ? undefined : isNumber ? Number(input.value) : input.value) };
}

/** Values and their names. @param {{ enum?: string[], enumNames?: string[], oneOf?: { const: string, title?: string }[], anyOf?: { const: string, title?: string }[] }} schema @returns {[string, string][]} */
function choicesOf(schema) {
  const named = schema.oneOf ?? schema.anyOf;
  if (named) return named.map((it) => [it.const, it.title ?? it.const]);
  return (schema.enum ?? []).map((value, at) => [value, schema.enumNames?.[at] ?? value]);
}
