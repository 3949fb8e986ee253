import { isDeepStrictEqual } from 'node:util'
import { type Client, PlatformApiError } from '../../client/index.ts'
import { readPathOf } from '../collections.ts'
import type { Command } from '../command.ts'
import { describeFailure } from '../describeFailure.ts'
import { CommandFailure, EXIT } from '../failure.ts'
import type { SendToKubernetes } from '../kubernetes.ts'
import { dryRunAtKubernetes } from '../kubernetesObjects.ts'
import { titleOf } from '../kubernetesRefusal.ts'
import { judgeManifest, KUBECONFIG, kubernetesFor, type ManifestStep, planManifestSteps } from '../manifestSteps.ts'
import type { Manifest, ManifestPlan } from '../manifests.ts'
import { printable } from '../output.ts'
import { openSession, SCOPE_OPTIONS } from '../session.ts'

export const diff: Command = {
  name: 'diff',
  summary: 'Show what `apply` of manifests would change, and change nothing',
  options: [
    { long: 'file', short: 'f', value: 'FILE', isRepeatable: true, summary: 'As with `apply`' },
    KUBECONFIG,
    ...SCOPE_OPTIONS,
  ],
  details:
    'Fields of a spec are compared with those of the record that REST shows. Fields that only Kubernetes writes are named\nand not compared: `kubectl diff` does. Kinds that only Kubernetes writes are compared by a dry run at its API server,\nas `apply` would write them. What cannot be read, or would be refused, is reported, and the others are compared.\nExit code 1: something would change. Exit code 2 and more: `apply` would be refused.',
  async run(input, context) {
    const session = await openSession(context)
    const kubernetes = await kubernetesFor(input, session, context)
    const steps = await planManifestSteps(input, session, context, kubernetes)
    const results: DiffResult[] = []
    for (const step of steps) {
      const each = await differenceOf(step, session.client, kubernetes)
      results.push(each)
      const title = step.plan?.title ?? `${step.manifest.kind} "${step.manifest.name ?? ''}"`
      const lines = each.lines.length > 0 ? [title, ...each.lines.map((line) => `  ${line}`)] : []
      for (const line of lines) context.terminal.out(`${printable(line)}\n`)
    }
    throwIfDifferent(results)
  },
}

/** The result for one manifest. */
type DiffResult = {
  readonly lines: readonly string[]
  readonly refusal?: CommandFailure | undefined
  /** Whether the refusal may only be due to resources that the same files create. */
  readonly mayPass?: boolean
}

const isChange = (line: string) => !line.startsWith('?')
const isNew = ({ lines }: DiffResult) => lines.includes(CREATED)

/** @throws CommandFailure for differences, with exit code 1; for refusals, with a higher one */
function throwIfDifferent(results: readonly DiffResult[]): void {
  const refusals = results.flatMap((each) => {
    const waitsForOthers = each.mayPass === true && results.some((other) => other !== each && isNew(other))
    return each.refusal === undefined || waitsForOthers ? [] : [each.refusal]
  })
  const [first] = refusals
  if (first !== undefined) {
    // As with `kubectl diff`, exit code 1 means differences.
    const exitCode = first.exitCode === EXIT.refused ? EXIT.usage : first.exitCode
    throw new CommandFailure(exitCode, refusals.map(({ message }) => message).join('\n'))
  }
  if (results.some(({ lines }) => lines.some(isChange)))
    throw new CommandFailure(EXIT.refused, 'Something would change.')
}

async function differenceOf(
  step: ManifestStep,
  client: Client,
  kubernetes: SendToKubernetes | undefined,
): Promise<DiffResult> {
  const { manifest, plan } = step
  try {
    if (plan === undefined) return { lines: await changesAtApiServer(manifest, kubernetes as SendToKubernetes) }
    const verdict = await judgeManifest(step, kubernetes)
    if (verdict?.isFinal === true) return { lines: [], refusal: verdict.refusal }
    const lines = describeFieldChanges(plan.body, await readRecord(plan, client))
    return { lines, refusal: verdict?.refusal, mayPass: verdict?.isNamespaceMissing === true }
  } catch (error) {
    if (!(error instanceof CommandFailure || error instanceof PlatformApiError)) throw error
    return { lines: [], refusal: refusalFrom(error, manifest) }
  }
}

function refusalFrom(error: CommandFailure | PlatformApiError, manifest: Manifest): CommandFailure {
  if (error instanceof CommandFailure) return error
  const { lines, exitCode } = describeFailure(error)
  return new CommandFailure(exitCode, [`${printable(titleOf(manifest))}:`, ...lines].join('\n'))
}

/** Returns a line per field: `+` is added, `~` changes, `-` is removed. Contents of Secrets are not shown. */
async function changesAtApiServer(found: Manifest, kubernetes: SendToKubernetes): Promise<string[]> {
  const answer = await dryRunAtKubernetes(found, kubernetes)
  if (answer.before === undefined) return [CREATED]
  const [before, after] = [contentOf(answer.before), contentOf(answer.after)]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const valueText = (text: string) => (found.kind === 'Secret' ? '' : `: ${text}`)
  return names.flatMap((name) => {
    const [old, next] = [before[name], after[name]]
    if (isDeepStrictEqual(old, next)) return []
    if (old === undefined) return [`+ ${name}${valueText(JSON.stringify(next))}`]
    if (next === undefined) return [`- ${name}${valueText(JSON.stringify(old))}`]
    return [`~ ${name}${valueText(`${JSON.stringify(old)} -> ${JSON.stringify(next)}`)}`]
  })
}

/** Returns the fields of the spec, and top-level fields such as the data of a ConfigMap. */
function contentOf(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { apiVersion, kind, metadata, status, spec, ...others } = object
  return { ...others, ...(spec as object | undefined) }
}

const CREATED = '+ it would be created'

/** Returns the current record; undefined if there is none. */
async function readRecord({ collection, change, create }: ManifestPlan, client: Client): Promise<object | undefined> {
  const path = readPathOf(collection, change ?? create)
  if (path === undefined) return undefined
  try {
    const { text } = await client.request({ method: 'GET', path })
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof PlatformApiError && error.status === 404) return undefined
    throw error
  }
}

/** Returns a line per field: `+` is added, `~` changes, `?` cannot be compared. */
export function describeFieldChanges(wanted: Readonly<Record<string, unknown>>, record: object | undefined): string[] {
  if (record === undefined) return [CREATED]
  const held = record as Readonly<Record<string, unknown>>
  return Object.entries(wanted).flatMap(([name, value]) => {
    if (!(name in held)) return [`? ${name} is not shown by REST`]
    return isContained(value, held[name])
      ? []
      : [`~ ${name}: ${JSON.stringify(held[name])} -> ${JSON.stringify(value)}`]
  })
}

/** Ignores further fields of the record, which are defaults, also within lists; anything else must be equal. */
function isContained(wanted: unknown, held: unknown): boolean {
  if (Array.isArray(wanted) && Array.isArray(held))
    return wanted.length === held.length && wanted.every((item, at) => isContained(item, held[at]))
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) return isDeepStrictEqual(wanted, held)
  const fields = (held ?? {}) as Record<string, unknown>
  return Object.entries(wanted).every(([name, value]) => isContained(value, fields[name]))
}
