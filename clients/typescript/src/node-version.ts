// Imported first: an older Node.js gets this sentence instead of an error from the middle of the package.
import { LapidaryError } from "./errors.js";

/** The oldest major version that is supported. */
const OLDEST = 20;

const [major = "0"] = process.versions.node.split(".");
if (Number(major) < OLDEST) {
  throw new LapidaryError(
    "node_too_old",
    `\`lapidary\` needs Node.js ${OLDEST} or newer; this is Node.js ${process.versions.node}`,
    `install a current Node.js; the command line alone works without Node.js`,
  );
}
