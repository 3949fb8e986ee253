import { isDeepStrictEqual } from 'node:util'
import { type Client, PlatformApiError, pathOf } from '../../client/index.ts'
import type { Command } from '../command.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import { type ManifestPlan, manifestsIn, planManifest } from '../manifests.ts'
import { printable } from '../output.ts'
import { openSession, PLACE_OPTIONS, placeOf } from '../session.ts'

export const diff: Command = {
  name: 'diff',
  summary: 'Show what `apply` of manifests would change, and change nothing',
  options: [{ long: 'file', short: 'f', value: 'FILE', many: true, summary: 'As with `apply`' }, ...PLACE_OPTIONS],
  details:
    'Fields of a spec are compared with those of the record that REST shows. What it does not show (kinds and fields that\nonly Kubernetes writes) is named and not compared: `kubectl diff` does. Exit code 1: something would change.',
  async run(input, context) {
    const files = input.all('file')
    if (files.length === 0) throw usage('--file is missing.')
    const { client, settings } = await openSession(context)
    const place = placeOf(input, settings)
    let isDifferent = false
    for await (const found of manifestsIn(files, context.terminal)) {
      const plan = planManifest(found, context.collections, place)
      const lines = changesOf(plan.body, await recordOf(plan, client))
      isDifferent ||= lines.some((line) => !line.startsWith('?'))
      for (const line of lines.length > 0 ? [plan.title, ...lines.map((each) => `  ${each}`)] : [])
        context.terminal.out(`${printable(line)}\n`)
    }
    if (isDifferent) throw new CommandFailure(EXIT.refused, 'Something would change.')
  },
}

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
  if (record === undefined) return ['+ it would be created']
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
