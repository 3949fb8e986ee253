import { foundIn, jsonOf, nothingToBuild, type SourceFiles, textAt } from './files.ts'
import { RUNTIMES, type Runtime, type RuntimeVersion, runtimeNamed } from './runtimes.ts'
import { chooseVersion } from './versions.ts'

export type Detected = {
  readonly runtime: Runtime
  readonly version: RuntimeVersion
  /** The file that told it; undefined where it was asked for. */
  readonly by: string | undefined
}

/** Where a source says which version it needs; the first that says anything counts. */
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

/** Ranges are short; reading one takes time by the square of its length. */
const LONGEST_WANTED = 256

const atLeast = (version: string | undefined) => (version === undefined ? undefined : `>=${version}`)

/** The one project of .NET in the root. Its name becomes a part of commands. */
export const projectOf = (files: SourceFiles) => [...files.paths].find((path) => /^\w[\w.+-]*\.(cs|fs)proj$/.test(path))

/**
 * What a source is built with: what was asked for, or what its files tell, in the order of the runtimes.
 *
 * @throws BuildRefusal if nothing tells it, or if we have no such version
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
