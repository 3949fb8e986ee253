/** Names nested records: without a name, generators of Go clients make types of them that nobody can write. */

type Schema = { [key: string]: unknown; properties?: Record<string, unknown> }
type Body = { content?: Record<string, { schema?: unknown }> }
type Operation = { operationId: string; tags: string[]; requestBody?: Body; responses: Record<string, Body> }
type Document = {
  paths?: Record<string, Record<string, unknown>>
  components?: { schemas?: Record<string, unknown> }
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isRecord = (schema: unknown): schema is Schema => isObject(schema) && isObject(schema.properties)

const capitalize = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

/** Returns the same document with a component for each record in its components and bodies. */
export function withNamedRecords<Of extends object>(document: Of): Of {
  const { paths = {}, components } = document as Document
  const schemas = components?.schemas
  if (schemas === undefined) return document
  const records = new Records(schemas)
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = records.within(schema, name)
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const { operationId, tags, requestBody, responses } = operation as Operation
    const [name, area] = [capitalize(operationId), capitalize(tags[0] ?? '')]
    records.nameBody(requestBody, [`${name}Request`, `${area}${name}Request`])
    for (const response of Object.values(responses)) records.nameBody(response, [`${name}Result`])
  }
  return document
}

class Records {
  readonly #schemas: Record<string, unknown>
  /** By content: bodies of one kind share their nested records. */
  readonly #names = new Map<string, string>()

  constructor(schemas: Record<string, unknown>) {
    this.#schemas = schemas
  }

  /** @param names candidates: the first one that is free is taken */
  nameBody(body: Body | undefined, names: readonly string[]): void {
    for (const shape of Object.values(body?.content ?? {})) {
      const schema = this.within(shape.schema, names[0] ?? '')
      shape.schema = isRecord(schema) ? this.#register(schema, names, names[0]) : schema
    }
  }

  /** Returns the schema with references in place of its nested records. */
  within(schema: unknown, name: string): unknown {
    if (!isObject(schema)) return schema
    const { properties, items, additionalProperties, anyOf } = schema
    return {
      ...schema,
      ...(isObject(properties) && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([field, value]) => [field, this.named(value, name + capitalize(field))]),
        ),
      }),
      ...(items !== undefined && { items: this.named(items, `${name}Item`) }),
      ...(isObject(additionalProperties) && { additionalProperties: this.named(additionalProperties, `${name}Value`) }),
      ...(Array.isArray(anyOf) && { anyOf: anyOf.map((one) => this.named(one, name)) }),
    }
  }

  /** Returns a reference if the schema is a record, otherwise the schema with references inside. */
  named(schema: unknown, name: string): unknown {
    const whole = this.within(schema, name)
    return isRecord(whole) ? this.#register(whole, [name, `${name}Record`]) : whole
  }

  /** @param owner set for a record that must not be shared with others that look alike */
  #register(record: Schema, wanted: readonly string[], owner = ''): { $ref: string } {
    const text = owner + JSON.stringify(record)
    const name = this.#names.get(text) ?? this.#freeName(wanted)
    this.#names.set(text, name)
    this.#schemas[name] = record
    return { $ref: `#/components/schemas/${name}` }
  }

  #freeName(wanted: readonly string[]): string {
    const isFree = (name: string) => !Object.hasOwn(this.#schemas, name)
    let name = wanted.find(isFree) ?? wanted[0] ?? ''
    for (let count = 2; !isFree(name); count += 1) name = `${wanted[0]}${count}`
    return name
  }
}
