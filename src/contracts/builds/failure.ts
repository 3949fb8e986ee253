import { BuildRefusal } from './files.ts'
import { quotedPath, toSingleLine } from './messageText.ts'
import type { BuildFailure } from './progress.ts'

type FailureRule = [pattern: RegExp, failure: BuildFailure, message: (...found: string[]) => string]

/** Messages of BuildKit at the end of a failed build; the first that matches counts. */
const BUILDKIT_RULES: readonly FailureRule[] = [
  [/no space left on device/i, 'OutOfDisk', () => 'The build wrote more than allowed.'],
  [/exit code: 137\b/, 'OutOfMemory', () => 'A command of the build was killed: it used more memory than allowed.'],
  [
    /process "(?:\/bin\/)?(?:sh -c )?((?:[^"\\]|\\.)*)" did not complete successfully: exit code: (\d+)/,
    'CommandFailed',
    (command, code) => `The command "${toSingleLine(command)}" ended with exit code ${code}: see the log of the build.`,
  ],
  [
    /failed to read dockerfile: open ([^:\s]+): no such file/,
    'NothingToBuild',
    (path) => `There is no Dockerfile at ${toSingleLine(path)}: check dockerfilePath and rootPath.`,
  ],
  [
    /dockerfile parse error on line (\d+)/,
    'NothingToBuild',
    (line) => `The Dockerfile cannot be read: line ${line} is wrong.`,
  ],
  [
    /dockerfile line greater than max(?:imum)? allowed size of (\d+)/,
    'NothingToBuild',
    (bytes) => `The Dockerfile cannot be read: a line is longer than ${toSingleLine(bytes)} bytes.`,
  ],
  [
    /the Dockerfile cannot be empty|file with no instructions|dockerfile contains no stages to build/,
    'NothingToBuild',
    () => 'The Dockerfile has nothing to build: it needs a line FROM.',
  ],
  [
    /base name \(([^)]*)\) should not be blank|failed to parse stage name "([^"]*)"/,
    'NothingToBuild',
    (blank, wrong) => `The Dockerfile begins with "${toSingleLine(wrong ?? blank)}", which is not an image name.`,
  ],
  [
    /cannot (?:copy|mount) from stage "([^"]*)"/,
    'NothingToBuild',
    (stage) => `The Dockerfile takes from its stage "${toSingleLine(stage)}" before that stage is defined.`,
  ],
  [
    /circular dependency detected on stage: (\S+)/,
    'NothingToBuild',
    (stage) => `The stage "${toSingleLine(stage)}" of the Dockerfile depends on itself.`,
  ],
  [
    /\b(security\.insecure|network\.host|device) is not allowed/,
    'CommandFailed',
    (right) => `The Dockerfile asks for "${toSingleLine(right)}", a privilege on its node that no build has.`,
  ],
  [
    /\bsecret ([^\s:]+): not found/,
    'CommandFailed',
    (id) =>
      `The Dockerfile asks for the secret "${toSingleLine(id)}": builds have one, "environment", with their variables.`,
  ],
  [
    /no SSH key "([^"]*)" forwarded/,
    'CommandFailed',
    (id) => `The Dockerfile asks for the SSH key "${toSingleLine(id || 'default')}": commands of builds have none.`,
  ],
  [
    /unsupported mount type "([^"]*)"/,
    'NothingToBuild',
    (kind) => `The Dockerfile cannot be read: there are no mounts of the kind "${toSingleLine(kind)}".`,
  ],
  [
    /failed to calculate checksum of ref [^:]+::?\S*: "([^"]+)": not found/,
    'CommandFailed',
    (path) => `The Dockerfile copies "${toSingleLine(path)}", which does not exist.`,
  ],
  [
    /failed to resolve source metadata for (\S+?):\s/,
    'CommandFailed',
    (image) =>
      `The image ${toSingleLine(image)}, which the build starts from, cannot be pulled: check its name, and whether builds can reach it.`,
  ],
  [
    /(?:Get|Head) "(https?:\/\/[^"\s]+)": /,
    'CommandFailed',
    (url) => `The Dockerfile adds ${toSingleLine(url)}, which cannot be reached from builds.`,
  ],
]

const GIT_RULES: readonly FailureRule[] = [
  [
    /transport '([^'\n]*)' not allowed/,
    'SourceUnreachable',
    (transport) => `Repositories are fetched by https, http or ssh, not by "${toSingleLine(transport)}".`,
  ],
  [
    /invalid path '([^\n]*)'/,
    'SourceRefused',
    (path) => `The commit contains ${quotedPath(path ?? '')}, a path that leads out of it or belongs to git.`,
  ],
  [/no space left on device/i, 'OutOfDisk', () => 'The repository is larger than a build may write.'],
  [
    /Authentication failed|could not read (?:Username|Password)|Permission denied|HTTP (?:code|error:?) 40[13]|returned error: 40[13]/i,
    'SourceUnreachable',
    () => 'The Git host refused the credentials: check the deployment source of the repository.',
  ],
  [
    /Host key verification failed/i,
    'SourceUnreachable',
    () => 'The host key of the Git host is not one of the known ones.',
  ],
  [
    /Remote branch (\S+) not found|couldn't find remote ref (\S+)/i,
    'SourceUnreachable',
    (branch, ref) => `The repository has no branch "${toSingleLine(branch ?? ref)}".`,
  ],
  [
    /not our ref|unadvertised object|did not receive expected object/i,
    'SourceUnreachable',
    () => 'The repository no longer has this commit.',
  ],
  [
    /not found|does not appear to be a git repository/i,
    'SourceUnreachable',
    () => 'The Git host does not have this repository.',
  ],
  [
    /Could not resolve host|Name or service not known|Connection (?:refused|timed out)|Failed to connect|unreachable/i,
    'SourceUnreachable',
    () => 'The Git host cannot be reached from builds: check the address and buildNetworks.',
  ],
]

function matchFailure(rules: readonly FailureRule[], output: string): BuildRefusal | undefined {
  for (const [pattern, failure, message] of rules) {
    const found = pattern.exec(output)
    if (found !== null) return new BuildRefusal(failure, message(...found.slice(1)))
  }
  return undefined
}

/** @param output the end of BuildKit's output */
export function failureOfBuild(output: string): BuildRefusal {
  return matchFailure(BUILDKIT_RULES, output) ?? new BuildRefusal('CommandFailed', 'The build failed: see its log.')
}

/** @param output git's output */
export function failureOfGit(output: string): BuildRefusal {
  return (
    matchFailure(GIT_RULES, output) ??
    new BuildRefusal('SourceUnreachable', 'The repository could not be fetched: see the log of the build.')
  )
}

/** @param output what the registry's client said when it fetched an uploaded source */
export function failureOfArchive(output: string): BuildRefusal {
  return /MANIFEST_UNKNOWN|NAME_UNKNOWN|status code 404/.test(output)
    ? new BuildRefusal('SourceUnreachable', 'The uploaded source is no longer in the registry.')
    : new BuildRefusal('BuilderFailed', 'The registry did not give the uploaded source: see the log of the build.')
}
