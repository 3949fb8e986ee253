import type { InvokeFunctionResult } from '../../client/index.ts'
import type { Command, Context, Input } from '../command.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import { printable } from '../output.ts'
import {
  KIND_HELP,
  listSubresourceRoutes,
  NAMED_RESOURCE,
  PATH_OPTIONS,
  prepareRequest,
  sendToSubresource,
} from '../requests.ts'
import { OUTPUT, show } from '../session.ts'
import { readTextInput } from '../text.ts'
import { headerOf } from './call.ts'

export const invoke: Command = {
  name: 'invoke',
  summary: 'Call a function once, and show what it answers',
  positionals: NAMED_RESOURCE,
  options: [
    { long: 'method', value: 'METHOD', summary: 'Default: POST with a body, else GET' },
    { long: 'path', value: 'PATH', summary: 'Path and query; default: the first path of its triggers' },
    { long: 'data', short: 'd', value: 'TEXT', summary: 'The body: text, @file, or - for stdin' },
    { long: 'header', short: 'H', value: 'NAME: VALUE', isRepeatable: true, summary: 'A header of the call' },
    ...PATH_OPTIONS,
    OUTPUT,
  ],
  details: `${KIND_HELP}\nfreehold invoke function hello -p namespaceName=calls -d '{"name":"you"}' -H 'content-type: application/json'\nThe body of the answer goes to stdout, its status to stderr. Exit code 6: the status is 400 or more.`,
  async run(input, context) {
    const prepared = await prepareRequest('get', input, context)
    const route = listSubresourceRoutes(prepared.target, 'POST').find(({ words }) => words === 'invoke')
    if (route === undefined) throw usage(`${prepared.collection.noun} cannot be called: functions can.`)
    const given = input.text('data')
    const isFile = given === '-' || given?.startsWith('@') === true
    const body = isFile ? await readTextInput(given.replace(/^@/, ''), context.terminal) : given
    const headers = Object.fromEntries(input.all('header').map(headerOf))
    const call = { method: input.text('method')?.toUpperCase(), path: input.text('path'), headers, body }
    const result = (await sendToSubresource(prepared, route, { body: call })) as InvokeFunctionResult
    if (input.text('output') === undefined) showResult(result, input, context)
    else show(result, input, context)
    if (result.statusCode >= 400) throw new CommandFailure(EXIT.failed, `The function answered ${result.statusCode}.`)
  },
}

function showResult(result: InvokeFunctionResult, input: Input, { terminal }: Context): void {
  const { statusCode, body, encoding, isTruncated, isColdStart, durationMilliseconds } = result
  const start = isColdStart ? ', with the start of a copy' : ''
  terminal.err(`${input.positionals.join(' ')}: ${statusCode} in ${durationMilliseconds} ms${start}\n`)
  if (encoding === 'Utf8') terminal.out(terminal.isTerminal ? printableLines(body) : body)
  else if (terminal.isTerminal) throw usage('The answer is no text, which is not for a terminal: add `> FILE`.')
  else terminal.outBytes(Buffer.from(body, 'base64'))
  if (terminal.isTerminal && !body.endsWith('\n')) terminal.out('\n')
  if (isTruncated) terminal.err('The answer was longer: this is its beginning.\n')
}

/** Removes control sequences from a tenant's output, but keeps line breaks and tabs. */
const printableLines = (text: string) =>
  text
    .split(/(\r?\n|\t)/)
    .map((part, at) => (at % 2 === 1 ? part : printable(part)))
    .join('')
