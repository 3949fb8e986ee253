import type { SourceFiles } from '../files.ts'
import type { PackageMirrors } from '../request.ts'
import type { Runtime, RuntimeVersion } from '../runtimes.ts'

/** What a recipe makes a Dockerfile of. */
export type RecipeInput = {
  readonly files: SourceFiles
  readonly runtime: Runtime
  readonly version: RuntimeVersion
  readonly buildCommand: string | undefined
  readonly startCommand: string | undefined
  readonly port: number
  /** Changes with the variables of the build; empty without any. */
  readonly environmentVersion: string
  readonly mirrors: PackageMirrors
}

/** Lines of the stage that builds, without FROM, and what the last stage takes of it. */
export type Recipe = (input: RecipeInput) => {
  readonly build: readonly string[]
  readonly last: readonly string[]
  /** A program with its arguments, or a line for a shell. */
  readonly start: string | readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** The id of the secret in which a build finds its variables. */
export const ENVIRONMENT_SECRET = 'environment'
/** No user of any image: owns nothing. */
const NOBODY = '65532:65532'

/** A Dockerfile that a person can read, and keep. */
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
    ...variables({ PORT: String(port), HOME: '/tmp', ...environment }),
    ...last,
    `USER ${NOBODY}`,
    `EXPOSE ${port}`,
    `CMD ${JSON.stringify(commandOf(startCommand ?? start))}`,
    '',
  ].join('\n')
}

const commandOf = (start: string | readonly string[]) => (typeof start === 'string' ? ['sh', '-c', start] : start)

export function variables(entries: Readonly<Record<string, string | undefined>>): string[] {
  const known = Object.entries(entries).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quoted(value)}`],
  )
  return known.length === 0 ? [] : [`ENV ${known.join(' ')}`]
}

const quoted = (value: string) => (/^[\w./:@%+,-]*$/.test(value) ? value : `"${value.replaceAll(/["\\$]/g, '\\$&')}"`)

/** Copies what stands there. @param paths relative, none with a blank */
export const copy = (paths: readonly string[], to = './') => `COPY ${paths.join(' ')} ${to}`

/**
 * Installs before everything is copied, so that it is done again only when a description changes.
 *
 * @param described the files that say what is installed; without any, nothing is
 * @param needsOthers whether they name files beside them: then everything is copied first
 */
export function installed(described: readonly string[], commands: readonly string[], needsOthers = false): string[] {
  if (described.length === 0) return ['COPY . .']
  const lines = commands.map(run)
  if (needsOthers) return ['COPY . .', ...lines]
  return ['# Installed again only when one of these changes.', copy(described), ...lines, 'COPY . .']
}

/** A command of ours. */
export const run = (command: string) => `RUN ${command}`

/** A command of the tenant's, which sees the variables of the build; whatever is in it, it is one instruction. */
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
