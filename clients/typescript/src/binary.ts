// Finds the binary, and checks that its version fits.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { LapidaryError } from "./errors.js";

const require = createRequire(import.meta.url);

interface Manifest {
  version: string;
  optionalDependencies?: Record<string, string>;
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, "utf8")) as Manifest;
}

const own = readManifest(require.resolve("../package.json"));

const SOURCE_BUILD = "build it with `cargo install --locked lapidary-cli`, and name it in `LAPIDARY_BIN`";

/** The version of this package. */
export const VERSION = own.version;

/** The path of the binary: `LAPIDARY_BIN`, or that of the package for this platform. */
export function findBinary(): string {
  const named = process.env["LAPIDARY_BIN"];
  if (named !== undefined && named !== "") {
    if (existsSync(named)) return named;
    throw new LapidaryError(
      "binary_missing",
      `\`LAPIDARY_BIN\` names \`${named}\`, which does not exist`,
      "correct it, or unset it to use the binary of the npm package",
    );
  }
  const platform = `${process.platform}-${process.arch}`;
  const name = `lapidary-${platform}`;
  if (own.optionalDependencies?.[name] === undefined) {
    throw new LapidaryError(
      "platform_unsupported",
      `there is no \`lapidary\` binary for \`${platform}\``,
      SOURCE_BUILD,
    );
  }
  const file = process.platform === "win32" ? "lapidary.exe" : "lapidary";
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), "bin", file);
  } catch {
    throw new LapidaryError(
      "binary_missing",
      `the package \`${name}\`, which has the binary for this platform, is not installed`,
      hasMusl()
        ? `this system has musl, and npm skips a binary for glibc: ${SOURCE_BUILD}`
        : `run \`npm install ${name}@${VERSION}\` (a lock file of another platform or \`--omit=optional\` leaves it out), or set \`LAPIDARY_BIN\``,
    );
  }
}

/** Whether the C library is musl, as on Alpine. */
function hasMusl(): boolean {
  if (process.platform !== "linux") return false;
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header !== undefined && report.header.glibcVersionRuntime === undefined;
}

const checked = new Map<string, Promise<void>>();

/** Fails if the binary does not have the version of this client. Each binary is asked once. */
export function checkBinary(path: string): Promise<void> {
  let check = checked.get(path);
  if (check === undefined) {
    check = askVersion(path);
    checked.set(path, check);
    check.catch(() => checked.delete(path)); // it may be there the next time
  }
  return check;
}

async function askVersion(path: string): Promise<void> {
  let text: string;
  try {
    text = (await promisify(execFile)(path, ["--version"], { timeout: 30_000 })).stdout;
  } catch (error) {
    throw startError(path, error as NodeJS.ErrnoException);
  }
  const version = /^lapidary (\S+)/.exec(text)?.[1];
  if (version === undefined || !isCompatible(version)) {
    throw new LapidaryError(
      "version_mismatch",
      `\`${path}\` is ${version === undefined ? "not Lapidary" : `Lapidary ${version}`}; this client needs ${wantedVersions()}`,
      version === undefined
        ? "correct `LAPIDARY_BIN`"
        : `run \`npm install lapidary@${version}\`, or unset \`LAPIDARY_BIN\` to use the binary of the npm package`,
    );
  }
}

/** Why the binary cannot be started. The system reports a missing directory as a missing program. */
export function startError(path: string, error: NodeJS.ErrnoException, cwd?: string): LapidaryError {
  if (cwd !== undefined && statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return new LapidaryError("directory_missing", `\`cwd\` is \`${cwd}\`, which is not a directory`, "create it, or correct `cwd`", { cause: error });
  }
  const isForeign = error.code === "ENOEXEC" || error.code === "ENOENT";
  const hint = isForeign
    ? `the binary may be of another platform or C library: ${SOURCE_BUILD}`
    : error.code === "EACCES"
      ? "it must be an executable file"
      : undefined;
  return new LapidaryError("binary_missing", `cannot start \`${path}\`: ${error.message}`, hint, { cause: error });
}

/** Before 1.0 a minor version may change the contract, from 1.0 on a major one. */
function isCompatible(version: string): boolean {
  return compatiblePart(version) === compatiblePart(VERSION);
}

function compatiblePart(version: string): string {
  const [major = "", minor = ""] = version.split(/[.+-]/);
  return major === "0" ? `0.${minor}` : major;
}

function wantedVersions(): string {
  return `${compatiblePart(VERSION)}.x`;
}
