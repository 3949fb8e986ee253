/** JSON with `BETWEEN_STRINGS`: of the leaves that differ if the shape is shared, otherwise of the whole value. */
export type Packed = { readonly text: string; readonly shape: Shape | undefined }

/** Stands for `","`. JSON escapes this character inside strings, so that it cannot be mistaken for data. */
const BETWEEN_STRINGS = '\u0000'
/** `replaceAll` would return a rope of pieces, three times as large as the text until it is first read. */
const shortenJson = (json: string) => json.split('","').join(BETWEEN_STRINGS)

/** The structure of a value without its leaves: 0 is a leaf, `items` an array, `fields` a record. */
type Template =
  | 0
  | { readonly items: readonly Template[] }
  | { readonly fields: readonly (readonly [string, Template])[] }
/**
 * `template` is parsed from the skeleton when a value is first unpacked: most values are only read as text. `first`
 * holds the leaves of the first value of this shape; `uses` counts the packed values that have it.
 */
export type Shape = {
  readonly skeleton: string
  template?: Template
  readonly first: readonly unknown[]
  uses: number
}

/** Above this many characters, leaves are not shared: shared leaves outlive the value that they came with. */
const MAX_SHARED_LEAF_CHARACTERS = 4_096
/** Limit for the characters of all structures together; structures that repeat have a few thousand. */
const MAX_STRUCTURE_CHARACTERS = 1_000_000

/**
 * Objects of one type repeat their keys, which are about half of their JSON, and many of their values: defaults, types
 * and reasons of conditions, names of plans. A packer stores each structure once, with the leaves of the first value
 * that had it, and of every other value only the leaves that differ. If structures do not repeat (free labels and data
 * keys), it stops collecting them. A structure is dropped with the last value that has it.
 */
export class Packer {
  readonly #shapes = new Map<string, Shape>()
  readonly #maxShapes: number
  readonly #sharesLeaves: boolean
  #structure = 0

  /** @param sharesLeaves false for secrets: no value may be kept because another object has the same */
  constructor({ maxShapes = 500, sharesLeaves = true } = {}) {
    this.#maxShapes = maxShapes
    this.#sharesLeaves = sharesLeaves
  }

  pack(value: unknown): Packed {
    const leaves: unknown[] = []
    const skeleton = describe(value, leaves)
    const shape = this.#shapes.get(skeleton) ?? this.#learn(skeleton, leaves)
    if (shape !== undefined) shape.uses += 1
    return { text: shortenJson(JSON.stringify(shape === undefined ? value : diffLeaves(leaves, shape.first))), shape }
  }

  unpack({ text, shape }: Packed): unknown {
    const parsed: unknown = JSON.parse(text.replaceAll(BETWEEN_STRINGS, '","'))
    return shape === undefined ? parsed : rebuild(templateOf(shape), mergeLeaves(parsed as LeafDelta, shape.first))
  }

  /** To be called when a packed value is dropped. */
  release({ shape }: Packed): void {
    if (shape === undefined) return
    shape.uses -= 1
    if (shape.uses > 0) return
    this.#shapes.delete(shape.skeleton)
    this.#structure -= shape.skeleton.length
  }

  #learn(skeleton: string, leaves: readonly unknown[]): Shape | undefined {
    // Assigning to `__proto__` would set a prototype instead of a field, so such an object is kept whole.
    if (this.#shapes.size >= this.#maxShapes || skeleton.includes('"__proto__"')) return undefined
    if (this.#structure + skeleton.length > MAX_STRUCTURE_CHARACTERS) return undefined
    const text = this.#sharesLeaves ? JSON.stringify(leaves) : ''
    // Parsed from the text, because a substring of a larger text would keep all of that text in memory.
    const first = text === '' || text.length > MAX_SHARED_LEAF_CHARACTERS ? [] : (JSON.parse(text) as unknown[])
    const shape: Shape = { skeleton, first, uses: 0 }
    this.#shapes.set(skeleton, shape)
    this.#structure += skeleton.length
    return shape
  }
}

/** Marks that tell which leaves differ from the first ones, followed by these leaves. */
type LeafDelta = readonly [marks: string, ...leaves: unknown[]]

/** Leaves per character of the marks, and the lowest character: from there on all are Latin-1 and unescaped in JSON. */
const LEAVES_PER_MARK = 7
const FIRST_MARK = 93

function diffLeaves(leaves: readonly unknown[], first: readonly unknown[]): LeafDelta {
  const marks = new Uint8Array(Math.ceil(first.length / LEAVES_PER_MARK)).fill(FIRST_MARK)
  const different = leaves.filter((leaf, at) => {
    if (at >= first.length) return true
    if (leaf === first[at]) return false
    const place = Math.floor(at / LEAVES_PER_MARK)
    marks[place] = (marks[place] ?? 0) + (1 << (at % LEAVES_PER_MARK))
    return true
  })
  return [String.fromCharCode(...marks), ...different]
}

function mergeLeaves([marks, ...different]: LeafDelta, first: readonly unknown[]): Iterator<unknown> {
  if (first.length === 0) return different.values()
  let next = 0
  const leaves = first.map((leaf, at) => {
    const mark = marks.charCodeAt(Math.floor(at / LEAVES_PER_MARK)) - FIRST_MARK
    if ((mark & (1 << (at % LEAVES_PER_MARK))) === 0) return leaf
    next += 1
    return different[next - 1]
  })
  return leaves.values()
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

function templateOf(shape: Shape): Template {
  shape.template ??= parsedTemplate(JSON.parse(shape.skeleton))
  return shape.template
}

function parsedTemplate(skeleton: unknown): Template {
  if (skeleton === 0) return 0
  if (Array.isArray(skeleton)) return { items: skeleton.map(parsedTemplate) }
  return { fields: Object.entries(skeleton as object).map(([key, part]) => [key, parsedTemplate(part)] as const) }
}

function rebuild(template: Template, leaves: Iterator<unknown>): unknown {
  if (template === 0) return leaves.next().value
  if ('items' in template) return template.items.map((item) => rebuild(item, leaves))
  const record: Record<string, unknown> = {}
  for (const [key, part] of template.fields) record[key] = rebuild(part, leaves)
  return record
}
