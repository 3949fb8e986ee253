import { isDeepStrictEqual } from 'node:util'
import { type Client, PlatformApiError, pathOf } from '../../client/index.ts'
import type { Command } from '../command.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import { dryRunAtKubernetes, type KubernetesAccess } from '../kubernetes.ts'
import { type Manifest, type ManifestPlan, manifestsIn } from '../manifests.ts'
import { printable } from '../output.ts'
import { openSession, PLACE_OPTIONS, placeOf } from '../session.ts'
import { accessFor, KUBECONFIG, stepOf } from './apply.ts'

export const diff: Command = {
  name: 'diff',
  summary: 'Show what `apply` of manifests would change, and change nothing',
  options: [
    { long: 'file', short: 'f', value: 'FILE', many: true, summary: 'As with `apply`' },
    KUBECONFIG,
    ...PLACE_OPTIONS,
  ],
  details:
    'Fields of a spec are compared with those of the record that REST shows. Fields that only Kubernetes writes are named\nand not compared: `kubectl diff` does. Kinds that only Kubernetes writes are compared by a dry run at its API server,\nas `apply` would write them. Exit code 1: something would change.',
  async run(input, context) {
    const files = input.all('file')
    if (files.length === 0) throw usage('--file is missing.')
    const session = await openSession(context)
    const place = placeOf(input, session.settings)
    const access = accessFor(input, session)
    let isDifferent = false
    for await (const found of manifestsIn(files, context.terminal)) {
      const { plan } = stepOf(found, context.collections, place, access)
      const title = plan?.title ?? `${found.kind} "${found.name ?? ''}"`
      const lines =
        plan === undefined
          ? await changesAtApiServer(found, access as KubernetesAccess, context.signal)
          : changesOf(plan.body, await recordOf(plan, session.client))
      isDifferent ||= lines.some((line) => !line.startsWith('?'))
      for (const line of lines.length > 0 ? [title, ...lines.map((each) => `  ${each}`)] : [])
        context.terminal.out(`${printable(line)}\n`)
    }
    if (isDifferent) throw new CommandFailure(EXIT.refused, 'Something would change.')
  },
}

/** One line for each field: `+` is new, `~` changes, `-` goes. What a Secret holds is not shown. */
async function changesAtApiServer(found: Manifest, access: KubernetesAccess, signal: AbortSignal): Promise<string[]> {
  const answer = await dryRunAtKubernetes(found, access, signal)
  if (answer === undefined) return [CREATED]
  const [before, after] = [contentOf(answer.before), contentOf(answer.after)]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const shown = (text: string) => (found.kind === 'Secret' ? '' : `: ${text}`)
  return names.flatMap((name) => {
    const [old, next] = [before[name], after[name]]
    if (isDeepStrictEqual(old, next)) return []
    if (old === undefined) return [`+ ${name}${shown(JSON.stringify(next))}`]
    if (next === undefined) return [`- ${name}${shown(JSON.stringify(old))}`]
    return [`~ ${name}${shown(`${JSON.stringify(old)} -> ${JSON.stringify(next)}`)}`]
  })
}

/** Fields of the spec, and what stands beside it, such as the data of a ConfigMap. */
function contentOf(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { apiVersion, kind, metadata, status, spec, ...others } = object
  return { ...others, ...(spec as object | undefined) }
}

const CREATED = '+ it would be created'

/** As it is now; undefined if there is none. */
async function recordOf({ collection, change, create }: ManifestPlan, client: Client): Promise<object | undefined> {
  const values = (change ?? create)?.values ?? {}
  const route = collection.routes.find(
    ({ verb, parameters }) => verb === 'get' && parameters.every((name) => name in values),
  )
  if (route === undefined) return undefined
  try {
    const { text } = await client.request({ method: 'GET', path: pathOf(route.path, values) })
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof PlatformApiError && error.status === 404) return undefined
    throw error
  }
}

/** One line for each field: `+` is new, `~` changes, `?` cannot be compared. */
export function changesOf(wanted: Readonly<Record<string, unknown>>, record: object | undefined): string[] {
  if (record === undefined) return [CREATED]
  const held = record as Readonly<Record<string, unknown>>
  return Object.entries(wanted).flatMap(([name, value]) => {
    if (!(name in held)) return [`? ${name} is not shown by REST`]
    return isHeld(value, held[name]) ? [] : [`~ ${name}: ${JSON.stringify(held[name])} -> ${JSON.stringify(value)}`]
  })
}

/** Maps hold further fields, which are defaults; lists and values are compared as a whole. */
function isHeld(wanted: unknown, held: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) return isDeepStrictEqual(wanted, held)
  const fields = (held ?? {}) as Record<string, unknown>
  return Object.entries(wanted).every(([name, value]) => isHeld(value, fields[name]))
}
