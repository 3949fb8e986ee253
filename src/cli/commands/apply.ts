import { type Client, PlatformApiError, pathOf } from '../../client/index.ts'
import type { Target } from '../collections.ts'
import type { Command } from '../command.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import { type ManifestPlan, parseManifests, planManifest } from '../manifests.ts'
import { openSession, PLACE_OPTIONS, placeOf } from '../session.ts'
import { textOf } from '../text.ts'

export const apply: Command = {
  name: 'apply',
  summary: 'Create or change what manifests say, as kubectl takes them',
  options: [
    {
      long: 'file',
      short: 'f',
      value: 'FILE',
      many: true,
      summary: 'YAML or JSON with one or more manifests; - is stdin',
    },
    ...PLACE_OPTIONS,
  ],
  details:
    'The place comes from metadata.namespace where a manifest has one, else from the options. All manifests are read and\nplaced before the first is sent. Fields that only kubectl can write are refused by the platform.',
  async run(input, context) {
    const files = input.all('file')
    if (files.length === 0) throw usage('--file is missing.')
    const { client, settings } = await openSession(context)
    const place = placeOf(input, settings)
    const plans: ManifestPlan[] = []
    for (const file of files) {
      const text = await textOf(file, context.terminal)
      for (const found of parseManifests(text, file === '-' ? 'stdin' : file)) {
        plans.push(planManifest(found, context.collections, place))
      }
    }
    if (plans.length === 0) throw usage('There is no manifest in what was given.')
    for (const plan of plans) context.terminal.out(`${await write(plan, client)}\n`)
  },
}

/** Changes what is there, or creates it. @returns what was done, for people */
async function write({ title, change, create, body }: ManifestPlan, client: Client): Promise<string> {
  const send = ({ route, values }: Target) =>
    client.request({ method: route.method, path: pathOf(route.path, values), body })
  if (change !== undefined) {
    try {
      await send(change)
      return `${title} configured`
    } catch (error) {
      if (!(error instanceof PlatformApiError && error.status === 404)) throw error
      if (create === undefined) {
        const reason =
          'was not found, and the platform gives such a thing its name: leave metadata.name out to create it'
        throw new CommandFailure(EXIT.refused, `${title} ${reason}.`, { cause: error })
      }
    }
  }
  if (create === undefined) throw usage(`${title} cannot be created by REST.`)
  const { status } = await send(create)
  return `${title} ${status === 201 ? 'created' : 'unchanged'}`
}
