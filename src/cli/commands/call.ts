import { showAnswer } from '../answers.ts'
import type { Command } from '../command.ts'
import { usage } from '../failure.ts'
import { OUTPUT, openSession } from '../session.ts'
import { parseDataOption } from '../text.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** A parameter as the reference writes it. */
const PARAMETER = /\{(?!(?:boundary|group)\})\w+\}/

export const call: Command = {
  name: 'call',
  summary: 'Send any request',
  positionals: [{ name: 'METHOD', offers: METHODS }, { name: 'PATH' }],
  options: [
    { long: 'data', short: 'd', value: 'JSON', summary: 'The body: JSON, @file, or - for stdin' },
    { long: 'header', short: 'H', value: 'NAME: VALUE', isRepeatable: true, summary: 'A further header' },
    OUTPUT,
  ],
  details:
    'PATH begins with a slash and may contain a query; {boundary} and {group} in it become the defaults of `freehold use`.',
  async run(input, context) {
    const [givenMethod = '', path = ''] = input.positionals
    const method = givenMethod.toUpperCase()
    if (!METHODS.includes(method)) throw usage(`METHOD must be one of ${METHODS.join(', ')}, not "${givenMethod}".`)
    if (!path.startsWith('/'))
      throw usage('PATH must begin with a slash: it is relative to the address of the platform.')
    const headers = Object.fromEntries(input.all('header').map(headerOf))
    const data = input.text('data')
    if (data !== undefined && method === 'GET') throw usage('GET takes no body: leave --data out.')
    const body = data === undefined ? undefined : await parseDataOption(data, context.terminal)
    const unfilled = path.split('?')[0]?.match(PARAMETER)?.[0]
    if (unfilled !== undefined)
      throw usage(`Write a value for ${unfilled}: only {boundary} and {group} have one, that of \`freehold use\`.`)
    const { client, settings } = await openSession(context)
    const filledPath = path.replaceAll(/\{(boundary|group)\}/g, (_whole, name: 'boundary' | 'group') => {
      const value = settings[name]
      if (value === undefined) throw usage(`There is no default ${name}: run \`freehold use --${name} ...\`.`)
      return encodeURIComponent(value)
    })
    const answer = await client.request({ method, path: filledPath, body, headers })
    if (answer.text === '') return
    showAnswer(answer, input, context)
  },
}

export function headerOf(text: string): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw usage('--header takes "Name: value".')
  if (name.toLowerCase() === 'authorization') throw usage('The token comes from the login or PLATFORM_TOKEN.')
  return [name, value]
}
