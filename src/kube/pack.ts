/** A packed value: JSON of its leaves if its shape is shared, else of the whole value, with `BETWEEN_STRINGS`. */
export type Packed = { readonly text: string; readonly shape: Shape | undefined }

/** Stands for `","`. JSON escapes this character wherever it is meant, so that nothing else can be taken for it. */
const BETWEEN_STRINGS = '\u0000'
const shortened = (json: string) => json.replaceAll('","', BETWEEN_STRINGS)

/** The structure of a value without its leaves: 0 for a leaf, a list for an array, key and part for a record. */
type Template =
  | 0
  | { readonly items: readonly Template[] }
  | { readonly fields: readonly (readonly [string, Template])[] }
export type Shape = { readonly template: Template }

/**
 * Objects of one type repeat their keys, which are about half of their JSON. A packer keeps each structure once and of
 * each object only the leaves. If structures do not repeat (free labels and data keys) it stops collecting them.
 */
export class Packer {
  readonly #shapes = new Map<string, Shape>()
  readonly #mostShapes: number

  constructor(mostShapes = 500) {
    this.#mostShapes = mostShapes
  }

  pack(value: unknown): Packed {
    const leaves: unknown[] = []
    const skeleton = describe(value, leaves)
    const shape = this.#shapes.get(skeleton) ?? this.#learn(skeleton)
    return { text: shortened(JSON.stringify(shape === undefined ? value : leaves)), shape }
  }

  unpack({ text, shape }: Packed): unknown {
    const parsed: unknown = JSON.parse(text.replaceAll(BETWEEN_STRINGS, '","'))
    return shape === undefined ? parsed : rebuild(shape.template, (parsed as unknown[]).values())
  }

  #learn(skeleton: string): Shape | undefined {
    // Assigning to `__proto__` would set a prototype instead of a field; such an object stays as it is.
    if (this.#shapes.size >= this.#mostShapes || skeleton.includes('"__proto__"')) return undefined
    const shape = { template: templateOf(JSON.parse(skeleton)) }
    this.#shapes.set(skeleton, shape)
    return shape
  }
}

function describe(value: unknown, leaves: unknown[]): string {
  if (Array.isArray(value)) return `[${value.map((item) => describe(item, leaves)).join(',')}]`
  if (typeof value !== 'object' || value === null) {
    leaves.push(value)
    return '0'
  }
  let fields = ''
  for (const [key, part] of Object.entries(value)) {
    if (part !== undefined) fields += `${fields === '' ? '' : ','}${JSON.stringify(key)}:${describe(part, leaves)}`
  }
  return `{${fields}}`
}

function templateOf(skeleton: unknown): Template {
  if (skeleton === 0) return 0
  if (Array.isArray(skeleton)) return { items: skeleton.map(templateOf) }
  return { fields: Object.entries(skeleton as object).map(([key, part]) => [key, templateOf(part)] as const) }
}

function rebuild(template: Template, leaves: Iterator<unknown>): unknown {
  if (template === 0) return leaves.next().value
  if ('items' in template) return template.items.map((item) => rebuild(item, leaves))
  const record: Record<string, unknown> = {}
  for (const [key, part] of template.fields) record[key] = rebuild(part, leaves)
  return record
}
