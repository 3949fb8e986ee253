import type { SourceFiles } from '../files.ts'
import type { PackageMirrors } from '../request.ts'
import type { Runtime, RuntimeVersion } from '../runtimes.ts'

/** The input of a recipe. */
export type RecipeInput = {
  readonly files: SourceFiles
  readonly runtime: Runtime
  readonly version: RuntimeVersion
  readonly buildCommand: string | undefined
  readonly startCommand: string | undefined
  readonly port: number
  /** Changes with the variables of the build; empty if there are none. */
  readonly environmentVersion: string
  readonly mirrors: PackageMirrors
}

/** Returns the lines of the build stage, without FROM, and what the last stage takes from it. */
export type Recipe = (input: RecipeInput) => {
  readonly build: readonly string[]
  readonly last: readonly string[]
  /** A program with its arguments, or a shell command line. */
  readonly start: string | readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Id of the BuildKit secret with the variables of a build. */
export const ENVIRONMENT_SECRET = 'environment'
/** A user that no image has, and that owns nothing. */
const NOBODY = '65532:65532'

/** Writes a Dockerfile that a person can read and keep. */
export function dockerfileOf(recipe: Recipe, input: RecipeInput, by: string | undefined): string {
  const { runtime, version, port, startCommand } = input
  const { build, last, start, environment = {} } = recipe(input)
  return [
    `# ${runtime.title} ${version.version}${by === undefined ? '' : `, set by ${by}`}. Keep a copy as Dockerfile to change it.`,
    `FROM ${version.builderImage} AS build`,
    'WORKDIR /app',
    ...build,
    '',
    `FROM ${version.runImage}`,
    'WORKDIR /app',
    ...envInstruction({ PORT: String(port), HOME: '/tmp', ...environment }),
    ...last,
    `USER ${NOBODY}`,
    `EXPOSE ${port}`,
    `CMD ${JSON.stringify(commandOf(startCommand ?? start))}`,
    '',
  ].join('\n')
}

const commandOf = (start: string | readonly string[]) => (typeof start === 'string' ? ['sh', '-c', start] : start)

export function envInstruction(entries: Readonly<Record<string, string | undefined>>): string[] {
  const known = Object.entries(entries).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quoted(value)}`],
  )
  return known.length === 0 ? [] : [`ENV ${known.join(' ')}`]
}

const quoted = (value: string) => (/^[\w./:@%+,-]*$/.test(value) ? value : `"${value.replaceAll(/["\\$]/g, '\\$&')}"`)

/** Copies from the build context. @param paths relative, none with a blank */
export const copy = (paths: readonly string[]) => `COPY ${paths.join(' ')} ./`

/**
 * Installs dependencies before everything is copied, so that the layer is reused until a manifest changes.
 *
 * @param described the manifests that say what to install; nothing is installed without any
 * @param needsOthers whether they refer to other files: then everything is copied first
 */
export function installInstructions(
  described: readonly string[],
  commands: readonly string[],
  needsOthers = false,
): string[] {
  if (described.length === 0) return ['COPY . .']
  const lines = commands.map(run)
  if (needsOthers) return ['COPY . .', ...lines]
  return ['# Installed again only when one of these changes.', copy(described), ...lines, 'COPY . .']
}

/** Runs a command of ours. */
export const run = (command: string) => `RUN ${command}`

/** Runs a tenant's command with the variables of the build. Whatever it contains, it stays one instruction. */
export function runWithVariables(
  command: string,
  { environmentVersion }: Pick<RecipeInput, 'environmentVersion'>,
): string[] {
  if (environmentVersion === '') return [`RUN ${oneInstruction(command)}`]
  const sourced = `. /run/secrets/${ENVIRONMENT_SECRET} && ${command}`
  return [
    '# Runs again when the variables of the build change, which are not kept in the image.',
    `ARG ENVIRONMENT_VERSION=${environmentVersion}`,
    `RUN --mount=type=secret,id=${ENVIRONMENT_SECRET},mode=0444 ${oneInstruction(sourced)}`,
  ]
}

function oneInstruction(command: string): string {
  const isPlain = !/[\n\r]|\\\s*$|<<|^\s*(\[|--)/.test(command)
  return isPlain ? command : JSON.stringify(['sh', '-c', command])
}
