import type { BodyField } from '../client/bodyField.ts'
import type { Collection, CollectionRoute } from './collection.ts'
import { type CommandWords, commandLineFor } from './collections.ts'
import { printable, table } from './output.ts'
import { suggestCalls } from './suggestCalls.ts'

/** One form of the create command, with the fields of its body. */
type Creation = { readonly form: string; readonly naming: string | undefined; readonly fields: readonly BodyField[] }

/** Groups the creations by body, so that places with the same body are shown together. */
async function creationsOf({ routes, noun, below = [] }: Collection, command: CommandWords): Promise<Creation[][]> {
  // Loaded on demand, because it is large.
  const { BODIES, NAMINGS } = await import('../client/bodies.ts')
  const createRoutes = routes.filter(({ verb }) => verb === 'create')
  const writeRoutes = createRoutes.length > 0 ? createRoutes : routes.filter(({ verb }) => verb === 'update')
  const creationsByBody = new Map<string, Creation[]>()
  for (const route of writeRoutes) {
    const request = `${route.method} ${route.path}`
    const [fields, naming] = [BODIES[request] ?? [], NAMINGS[request]]
    const key = JSON.stringify([fields, naming])
    const form = commandLineFor(route, writeRoutes, [...below, noun].join('/'), command)
    const previous = creationsByBody.get(key) ?? []
    if (previous.every((other) => other.form !== form))
      creationsByBody.set(key, [...previous, { form, naming, fields }])
  }
  return [...creationsByBody.values()]
}

/** Returns an empty body if the route takes one: the API does not accept a missing body. */
export async function emptyBodyFor({ method, path }: CollectionRoute): Promise<object | undefined> {
  const { BODIES } = await import('../client/bodies.ts')
  return BODIES[`${method} ${path}`] === undefined ? undefined : {}
}

/** Describes how to create a resource: the command lines, and the fields of `--data`. */
export async function creationHelp(collection: Collection, command: CommandWords): Promise<string> {
  const creations = await creationsOf(collection, command)
  if (creations.length === 0) {
    const calls = suggestCalls(collection, 'create', {}).map((call) => `\n  ${call}`)
    return `The platform makes ${collection.noun} itself.${calls.length > 0 ? ` To have one made:${calls.join('')}` : ''}\n`
  }
  return creations
    .map((sameBody) => {
      const forms = sameBody.map(({ form }) => `  ${form}\n`).join('')
      const [{ naming, fields } = { naming: undefined, fields: [] }] = sameBody
      return `${forms}\n${naming === undefined ? '' : `NAME ${naming}.\n\n`}${fieldTable(fields)}`
    })
    .join('\n')
}

function fieldTable(fields: readonly BodyField[]): string {
  if (fields.length === 0) return '--data is not needed: there are no fields to set.\n'
  const rows = fields.map(({ name, type, isRequired, default: standard, about }) => [
    `  ${name}`,
    type,
    isRequired === true ? 'required' : (standard ?? ''),
    about,
  ])
  const tableRows = [['  FIELD', 'TYPE', 'DEFAULT', 'MEANING'], ...rows]
  return `Fields of --data\n${table(tableRows.flatMap(([name = '', ...texts]) => wrapRow(name, texts)))}`
}

/** Column widths of TYPE, DEFAULT and MEANING; a long enumeration would push the others off the screen. */
const COLUMN_WIDTHS = [36, 24, 76]

/** Wraps the cells of a row. Returns its lines. */
function wrapRow(name: string, texts: readonly string[]): string[][] {
  const cells = texts.map((text, index) => wrapText(printable(text), COLUMN_WIDTHS[index] ?? 0))
  const height = Math.max(...cells.map((cell) => cell.length))
  return Array.from({ length: height }, (_, line) => [
    line === 0 ? printable(name) : '',
    ...cells.map((cell) => cell[line] ?? ''),
  ])
}

function wrapText(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.pop()
    if (last === undefined) lines.push(word)
    else if (last.length + 1 + word.length <= width) lines.push(`${last} ${word}`)
    else lines.push(last, word)
  }
  return lines
}
