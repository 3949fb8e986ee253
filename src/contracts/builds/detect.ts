import { matchInFile, nonEmptyStringAt, nothingToBuild, parseJsonFile, type SourceFiles } from './files.ts'
import { RUNTIMES, type Runtime, type RuntimeVersion, runtimeNamed } from './runtimes.ts'
import { chooseVersion } from './versions.ts'

export type DetectedRuntime = {
  readonly runtime: Runtime
  readonly version: RuntimeVersion
  /** The file that revealed the runtime; undefined if the runtime was asked for. */
  readonly by: string | undefined
}

/** Where a source states the version that it needs; the first statement that is found counts. */
const DECLARED_VERSIONS: Readonly<Record<Runtime['name'], (files: SourceFiles) => string | undefined>> = {
  nodejs: (files) =>
    matchInFile(files, '.nvmrc', /^(v?\d[\w.]*)/) ??
    matchInFile(files, '.node-version', /^(v?\d[\w.]*)/) ??
    nonEmptyStringAt(parseJsonFile(files, 'package.json'), 'engines', 'node'),
  python: (files) =>
    matchInFile(files, '.python-version', /^(\d[\w.]*)/) ??
    matchInFile(files, 'runtime.txt', /^python-(\d[\w.]*)/) ??
    matchInFile(files, 'pyproject.toml', /^(?:requires-python|python)\s*=\s*["']([^"']+)["']/m),
  go: (files) => atLeast(matchInFile(files, 'go.mod', /^go\s+(\d+\.\d+)/m)),
  java: (files) =>
    matchInFile(files, '.java-version', /^(\d+)/) ??
    atLeast(matchInFile(files, 'pom.xml', /<(?:maven\.compiler\.release|java\.version|release)>(\d+)</)) ??
    atLeast(matchInFile(files, 'build.gradle', /JavaLanguageVersion\.of\((\d+)\)/)) ??
    atLeast(matchInFile(files, 'build.gradle.kts', /JavaLanguageVersion\.of\((\d+)\)/)),
  dotnet: (files) => matchInFile(files, dotnetProjectOf(files) ?? '', /<TargetFramework>net(\d+\.\d+)</),
  php: (files) => nonEmptyStringAt(parseJsonFile(files, 'composer.json'), 'require', 'php'),
  ruby: (files) =>
    matchInFile(files, '.ruby-version', /^(?:ruby-)?(\d[\w.]*)/) ??
    matchInFile(files, 'Gemfile', /^ruby\s+["']([^"']+)["']/m),
  rust: () => undefined,
  static: () => undefined,
}

/** Maximum characters of a version range, which takes quadratic time to parse; real ones are short. */
const MAX_WANTED_CHARACTERS = 256

const atLeast = (version: string | undefined) => (version === undefined ? undefined : `>=${version}`)

/** The one .NET project in the root. Its name must be plain because it becomes part of commands. */
export const dotnetProjectOf = (files: SourceFiles) =>
  [...files.paths].find((path) => /^\w[\w.+-]*\.(cs|fs)proj$/.test(path))

/**
 * Chooses runtime and version: what was asked for, otherwise what the files indicate, in the order of RUNTIMES.
 *
 * @throws BuildRefusal if the files indicate no runtime, or no known version fits
 */
export function detectRuntime(
  files: SourceFiles,
  request: { runtime?: string | undefined; runtimeVersion?: string | undefined },
): DetectedRuntime {
  const { runtime, by } =
    request.runtime === undefined ? findRuntime(files) : { runtime: runtimeNamed(request.runtime), by: undefined }
  if (runtime === undefined) throw nothingToBuild(`There is no runtime "${request.runtime ?? ''}" to build with.`)
  const wanted = request.runtimeVersion ?? DECLARED_VERSIONS[runtime.name](files)
  if (wanted !== undefined && wanted.length > MAX_WANTED_CHARACTERS)
    throw nothingToBuild(
      `The version of ${runtime.title} that the source needs has over ${MAX_WANTED_CHARACTERS} characters.`,
    )
  const version = chooseVersion(runtime, wanted)
  if (version !== undefined) return { runtime, version, by }
  const known = runtime.versions.map((one) => one.version).join(', ')
  throw nothingToBuild(`The source needs ${runtime.title} ${wanted}, which is not among ${known}.`)
}

function findRuntime(files: SourceFiles): { runtime: Runtime; by: string } {
  for (const runtime of RUNTIMES) {
    const by = runtime.detects
      .map((name) => (name.startsWith('*') ? dotnetProjectOf(files) : name))
      .find((name) => name !== undefined && files.paths.has(name))
    if (by !== undefined) return { runtime, by }
  }
  const known = RUNTIMES.flatMap(({ detects }) => detects).join(', ')
  throw nothingToBuild(
    `The runtime cannot be detected: the source has none of ${known}, and no Dockerfile. Check the folder, which rootPath of an app names.`,
  )
}
