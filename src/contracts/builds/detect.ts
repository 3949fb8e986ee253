import { foundIn, jsonOf, nothingToBuild, type SourceFiles, textAt } from './files.ts'
import { RUNTIMES, type Runtime, type RuntimeVersion, runtimeNamed } from './runtimes.ts'
import { chooseVersion } from './versions.ts'

export type Detected = {
  readonly runtime: Runtime
  readonly version: RuntimeVersion
  /** The file that revealed the runtime; undefined if the runtime was asked for. */
  readonly by: string | undefined
}

/** Where a source states the version that it needs; the first statement that is found counts. */
const WANTED: Readonly<Record<Runtime['name'], (files: SourceFiles) => string | undefined>> = {
  nodejs: (files) =>
    foundIn(files, '.nvmrc', /^(v?\d[\w.]*)/) ??
    foundIn(files, '.node-version', /^(v?\d[\w.]*)/) ??
    textAt(jsonOf(files, 'package.json'), 'engines', 'node'),
  python: (files) =>
    foundIn(files, '.python-version', /^(\d[\w.]*)/) ??
    foundIn(files, 'runtime.txt', /^python-(\d[\w.]*)/) ??
    foundIn(files, 'pyproject.toml', /^(?:requires-python|python)\s*=\s*["']([^"']+)["']/m),
  go: (files) => atLeast(foundIn(files, 'go.mod', /^go\s+(\d+\.\d+)/m)),
  java: (files) =>
    foundIn(files, '.java-version', /^(\d+)/) ??
    atLeast(foundIn(files, 'pom.xml', /<(?:maven\.compiler\.release|java\.version|release)>(\d+)</)) ??
    atLeast(foundIn(files, 'build.gradle', /JavaLanguageVersion\.of\((\d+)\)/)) ??
    atLeast(foundIn(files, 'build.gradle.kts', /JavaLanguageVersion\.of\((\d+)\)/)),
  dotnet: (files) => foundIn(files, projectOf(files) ?? '', /<TargetFramework>net(\d+\.\d+)</),
  php: (files) => textAt(jsonOf(files, 'composer.json'), 'require', 'php'),
  ruby: (files) =>
    foundIn(files, '.ruby-version', /^(?:ruby-)?(\d[\w.]*)/) ?? foundIn(files, 'Gemfile', /^ruby\s+["']([^"']+)["']/m),
  rust: () => undefined,
  static: () => undefined,
}

/** Maximum characters of a version range, which takes quadratic time to parse; real ones are short. */
const LONGEST_WANTED = 256

const atLeast = (version: string | undefined) => (version === undefined ? undefined : `>=${version}`)

/** The one .NET project in the root. Its name must be plain because it becomes part of commands. */
export const projectOf = (files: SourceFiles) => [...files.paths].find((path) => /^\w[\w.+-]*\.(cs|fs)proj$/.test(path))

/**
 * Chooses runtime and version: what was asked for, otherwise what the files indicate, in the order of RUNTIMES.
 *
 * @throws BuildRefusal if the files indicate no runtime, or no known version fits
 */
export function detect(
  files: SourceFiles,
  asked: { runtime?: string | undefined; runtimeVersion?: string | undefined },
): Detected {
  const { runtime, by } =
    asked.runtime === undefined ? foundRuntime(files) : { runtime: runtimeNamed(asked.runtime), by: undefined }
  if (runtime === undefined) throw nothingToBuild(`There is no runtime "${asked.runtime ?? ''}" to build with.`)
  const wanted = asked.runtimeVersion ?? WANTED[runtime.name](files)
  if (wanted !== undefined && wanted.length > LONGEST_WANTED)
    throw nothingToBuild(`The version of ${runtime.title} that the source needs has over ${LONGEST_WANTED} characters.`)
  const version = chooseVersion(runtime, wanted)
  if (version !== undefined) return { runtime, version, by }
  const known = runtime.versions.map((one) => one.version).join(', ')
  throw nothingToBuild(`The source needs ${runtime.title} ${wanted}, which is not among ${known}.`)
}

function foundRuntime(files: SourceFiles): { runtime: Runtime; by: string } {
  for (const runtime of RUNTIMES) {
    const by = runtime.detects
      .map((name) => (name.startsWith('*') ? projectOf(files) : name))
      .find((name) => name !== undefined && files.paths.has(name))
    if (by !== undefined) return { runtime, by }
  }
  const known = RUNTIMES.flatMap(({ detects }) => detects).join(', ')
  throw nothingToBuild(
    `The runtime cannot be detected: the source has none of ${known}, and no Dockerfile. Check the folder, which rootPath of an app names.`,
  )
}
