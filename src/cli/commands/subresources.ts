import { pathOf } from '../../client/index.ts'
import { quoteShellWord } from '../../core/shellWord.ts'
import { suggestion } from '../../core/suggestion.ts'
import { showAnswer } from '../answers.ts'
import type { Command, Option } from '../command.ts'
import { usage } from '../failure.ts'
import {
  findSubresourceRoute,
  KIND_HELP,
  listSubresourceRoutes,
  NAMED_RESOURCE,
  PATH_OPTIONS,
  type PreparedRequest,
  prepareRequest,
  requestSubresource,
  resourceInput,
} from '../requests.ts'
import { OUTPUT } from '../session.ts'

/** Shows a route below a resource: its key, its address, its health. */
export const read: Command = {
  name: 'read',
  summary: 'Show the details of a resource: its key, its address, its health',
  positionals: [...NAMED_RESOURCE, { name: 'WHAT', isOptional: true }],
  options: [...PATH_OPTIONS, OUTPUT],
  details: `${KIND_HELP}\nWithout WHAT: lists what there is. A name replaces each {word} of it: freehold read app shop revisions/1/diff/2`,
  async run(input, context) {
    const [, , subresource] = input.positionals
    const prepared = await prepareRequest('get', resourceInput(input), context)
    const all = listSubresourceRoutes(prepared.target, 'GET')
    const named = subresource === undefined ? undefined : findSubresourceRoute(all, subresource)
    if (named === undefined) {
      const names = all.map(({ words }) => words).sort()
      if (subresource !== undefined)
        throw usage(
          `There is no "${subresource}" of ${prepared.collection.noun}${suggestion(subresource, names) || '.'} Without WHAT, it lists what there is.`,
        )
      context.terminal.out(names.map((name) => `${name}\n`).join(''))
      return
    }
    showAnswer(await requestSubresource(prepared, named.route, { values: named.values }), input, context)
  },
}

const LOG_OPTIONS: readonly Option[] = [
  { long: 'follow', short: 'f', summary: 'Continue with new lines until interrupted' },
  { long: 'tail', value: 'N', summary: 'Lines from the end; default 500' },
  { long: 'timestamps', summary: 'Begin each line with its time' },
  { long: 'previous', summary: 'Of the previous run' },
  { long: 'process', value: 'NAME', summary: 'Of one container' },
]

/** The log is a route below the resource, or below one of its copies. */
export const logs: Command = {
  name: 'logs',
  summary: 'Show the log of a resource',
  positionals: [...NAMED_RESOURCE, { name: 'PART', isOptional: true }],
  options: [...PATH_OPTIONS, ...LOG_OPTIONS],
  details: `${KIND_HELP}\nPART is one of several copies, where the log is of a copy: freehold logs containerinstance shop PART`,
  async run(input, context) {
    const [, , component] = input.positionals
    const prepared = await prepareRequest('get', resourceInput(input), context)
    const pattern = component === undefined ? /^logs$/ : /^[a-z]+\/\{(\w+)\}\/logs$/
    const all = listSubresourceRoutes(prepared.target, 'GET')
    const route = all.find(({ words }) => pattern.test(words))
    if (route === undefined) {
      const componentNoun = all.find(({ words }) => words.endsWith('}/logs'))?.words.split('/')[0]
      const { nameParameter = '' } = prepared.target.route
      const named = `${nameParameter}=${prepared.target.values[nameParameter] ?? ''}`
      const hint =
        componentNoun === undefined
          ? 'have no log.'
          : `have logs of each of their ${componentNoun}: name one; \`freehold list ${componentNoun} -p ${quoteShellWord(named)}\` lists them.`
      throw usage(`${prepared.collection.noun} ${hint}`)
    }
    const name = pattern.exec(route.words)?.[1]
    const values = { ...prepared.target.values, ...(name !== undefined && { [name]: component ?? '' }) }
    const flags = ['follow', 'timestamps', 'previous'].filter((flag) => input.has(flag)).map((flag) => [flag, 'true'])
    const query = { ...Object.fromEntries(flags), tail: input.text('tail'), process: input.text('process') }
    const path = pathOf(route.operation.path, values, query)
    const chunks = prepared.client.stream({ method: 'GET', path, headers: { accept: 'text/plain' } })
    let isEmpty = true
    for await (const chunk of chunks) {
      isEmpty &&= chunk === ''
      context.terminal.out(chunk)
    }
    if (isEmpty) context.terminal.err(`${await explainEmptyLog(prepared)}\n`)
  },
}

/** Explains an empty log: simulated pods write nothing. */
async function explainEmptyLog({ client }: PreparedRequest): Promise<string> {
  const isSimulated = await client.operations['Version_resource-groups']({}).then(
    ({ simulated }) => simulated.includes('pods'),
    () => false,
  )
  return isSimulated
    ? 'There is no log: pods are simulated on this platform, so no program runs (`npm run up -- --node` runs them).'
    : 'The log is empty.'
}
