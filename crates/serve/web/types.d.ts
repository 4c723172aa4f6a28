// Types of the responses that the page reads, for `tsc` alone: no browser loads this file.
import type { ElicitationRequest, PermissionRequest } from "lapidary";

export type { FleetLane, FleetOverviewReport, FleetTicket, FleetTicketReport, FleetWorker } from "lapidary";

export interface RunInfo {
  id: string;
  state: string;
  agent?: string;
  outcome?: string;
  cause?: string;
  agentExitCode?: number;
  sessionId?: string;
  startedAt?: string;
  durationMs?: number;
  project?: string;
  model?: string;
  prompt?: string;
  totalTokens?: number;
  costUsd?: number;
  costBasis?: string;
}

export interface ShownRun {
  run: RunInfo;
  isServed: boolean;
  /** The first prompt, of a run of this server. */
  prompt?: string;
  /** Whether the run takes more prompts. */
  isOpen?: boolean;
}

export interface TextMatch {
  before?: string;
  match?: string;
  after?: string;
  role?: string;
  tool?: string;
}

export interface SessionInfo {
  id: string;
  provider: string;
  displayName?: string;
  project?: string;
  messageCount?: number;
  startTime?: string;
  lastUpdated?: string;
  matchingTexts?: number;
  matchSnippets?: TextMatch[];
}

export interface SessionsFound {
  sessions?: SessionInfo[];
  hits?: SessionInfo[];
  total?: number;
  /** There are more than the limit. */
  nextCursor?: string;
}

export interface Facts {
  title?: string | null;
  provider?: string;
  model?: string | null;
  cwd?: string | null;
  sessionId?: string | null;
  startedAt?: string | null;
  durationMs?: number | null;
  totalTokens?: number | null;
  tokenParts?: string;
  cost?: string | null;
  costBasis?: string | null;
  toolCalls?: number;
  failedCalls?: number;
  isWorking?: boolean;
}

export interface OpenPermission {
  runId: string;
  request: PermissionRequest;
  html: string;
}

/** A permission request of a ticket. */
export interface TicketPermission {
  ticket: string;
  runId: string;
  askedAt: string;
  request: PermissionRequest;
  html: string;
}

export interface OpenElicitation {
  runId: string;
  request: ElicitationRequest;
}

export interface Waiting {
  permissions: OpenPermission[];
  elicitations: OpenElicitation[];
}

/** A field of the form of an elicitation, as its JSON Schema describes it. */
export interface FieldSchema {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  enumNames?: string[];
  oneOf?: { const: string; title?: string }[];
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  items?: { enum?: string[]; oneOf?: { const: string; title?: string }[]; anyOf?: { const: string; title?: string }[] };
}

export interface TokenCounts {
  input: number;
  output: number;
  cached: number;
  thoughts: number;
  total: number;
}

export interface UsageRow {
  date?: string;
  provider: string;
  project?: string;
  model?: string;
  answers: number;
  tokens: TokenCounts;
  cost?: number;
}

export interface Stats {
  sessions: number;
  turns: number;
  toolCalls: number;
  toolErrors: number;
  tokens: TokenCounts;
  cost?: number;
  unpricedTokens?: number;
  pricesAsOf?: string;
  usage: UsageRow[];
  tools: { name: string; calls: number; errors: number }[];
}

export interface Check {
  name: string;
  state: string;
  message?: string;
  remedy?: string;
  details?: string[];
}

export interface AgentPrograms {
  programs: { name: string; installed: boolean; url?: string; version?: string }[];
}
