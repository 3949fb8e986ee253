import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type AnyKind, brokenRules, type DeclaredRule, isTransitionRule } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { crdManifest } from '../../src/crds/manifest.ts'
import { RULE_CASES } from '../cases/ruleCases.ts'

const root = join(import.meta.dirname, '../..')
const PAGES = globSync('docs/areas/*.md', { cwd: root }).map((path) => readFileSync(join(root, path), 'utf8'))

/** Kinds of Kubernetes and of common operators, with which a kind of the same name would be ambiguous in kubectl. */
const TAKEN = [
  'Job',
  'Cluster',
  'Group',
  'User',
  'Backup',
  'Function',
  'Role',
  'Secret',
  'Service',
  'Namespace',
  'Pod',
  'Restore',
  'Schedule',
  'Bucket',
  'Certificate',
  'Database',
  'Project',
]

type Schema = {
  type?: string
  format?: string
  default?: unknown
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema | boolean
}

function rootOf(kind: AnyKind): { properties: Record<string, Schema> } {
  const { spec } = crdManifest(kind) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: Record<string, Schema> } } }[] }
  }
  const [version] = spec.versions
  if (version === undefined) throw new Error(`${kind.kind} has no version.`)
  return version.schema.openAPIV3Schema
}

/** The schema at the path of a column, or undefined if there is no such field. */
function fieldAt(schema: Schema, path: string): Schema | undefined {
  const steps = path.match(/[^.[\]]+|\[[^\]]*\]/g) ?? []
  return steps.reduce<Schema | undefined>((found, step) => {
    if (step.startsWith('[')) return found?.items
    const { properties, additionalProperties: values } = found ?? {}
    return properties?.[step] ?? (typeof values === 'object' ? values : undefined)
  }, schema)
}

/** The paths of fields in lists that have a default. */
function defaultsInLists(schema: Schema, path: string, isInList = false): string[] {
  const { properties = {}, items, additionalProperties: values } = schema
  return [
    ...(isInList && schema.default !== undefined ? [path] : []),
    ...Object.entries(properties).flatMap(([name, field]) => defaultsInLists(field, `${path}.${name}`, isInList)),
    ...(items === undefined ? [] : defaultsInLists(items, `${path}[]`, true)),
    ...(typeof values === 'object' ? defaultsInLists(values, `${path}{}`, isInList) : []),
  ]
}

describe('KINDS', () => {
  it('has more than ten kinds', () => expect(KINDS.length).to.be.greaterThan(10))

  it('has unique names, plurals and short names, and none of Kubernetes', () => {
    // A plural may equal the singular: settings.
    const names = KINDS.flatMap(({ kind, resource, shortNames }) => [
      ...new Set([kind.toLowerCase(), resource.plural, ...shortNames]),
    ])
    expect(new Set(names).size).to.equal(names.length)
    expect(KINDS.map((kind) => kind.kind).filter((kind) => TAKEN.includes(kind))).to.deep.equal([])
  })

  for (const kind of KINDS) {
    describe(kind.kind, () => {
      it('is explained on a page of docs/areas', () => {
        expect(PAGES.some((page) => page.includes(kind.kind))).to.equal(true)
      })

      it('has a CRD and rules that name one of its fields', () => {
        expect(() => crdManifest(kind)).not.to.throw()
        for (const rule of kind.rules)
          expect(Object.keys(kind.spec.shape), rule.message).to.include(rule.field.split('.')[0])
      })

      it('has no defaults in lists, which client-side apply would remove each time', () => {
        const { spec } = rootOf(kind).properties
        const { history: _ours, ...callers } = spec?.properties ?? {}
        expect(Object.entries(callers).flatMap(([name, field]) => defaultsInLists(field, name))).to.deep.equal([])
      })

      it('has the default observedGeneration -1 if a controller writes its status', () => {
        const expected = 'observedGeneration' in kind.status.shape ? { observedGeneration: -1 } : undefined
        expect(rootOf(kind).properties.status?.default).to.deep.equal(expected)
      })

      it('has a reference page', () => {
        expect(existsSync(join(root, `docs/reference/kinds/${kind.kind}.md`))).to.equal(true)
      })

      it('has an accepted and a rejected case for every rule', () => {
        const cases = RULE_CASES.filter((entry) => entry.kind.kind === kind.kind)
        const missing = kind.rules
          .filter(
            (rule) =>
              !cases.some((entry) => entry.refused.includes(rule.message)) ||
              !cases.some((entry) => entry.refused.length === 0),
          )
          .map((rule) => rule.message)
        expect(missing).to.deep.equal([])
      })
    })
  }
})

describe('brokenRules', () => {
  for (const { name, kind, next, previous, refused } of RULE_CASES) {
    it(name, () => {
      const found = brokenRules(kind as never, next as never, previous as never)
      const withoutNames = found.map((rule) => rule.message.replace(/^".*" is not allowed: /, ''))
      expect(withoutNames.sort()).to.deep.equal([...refused].sort())
    })
  }

  for (const [kind, rule] of KINDS.flatMap((kind) => kind.rules.map((rule) => [kind, rule] as const))) {
    if (!/\.all\(k,/.test(rule.cel)) continue
    it(`names the rejected key of a map: ${kind.kind}, ${rule.message}`, () => {
      const found = RULE_CASES.find((each) => each.kind === kind && each.refused.includes(rule.message))
      const spec = found?.next as Record<string, object> | undefined
      const [broken] = brokenRules({ rules: [rule] } as never, spec as never)
      const [name] = Object.keys(spec?.[rule.field] ?? {})
      expect(broken?.message).to.equal(`"${name}" is not allowed: ${rule.message}`)
    })
  }

  it('ignores values of an older object that do not change', () => {
    const stored = RULE_CASES.filter(({ previous, refused }) => previous === undefined && refused.length > 0)
    const refusing = stored.filter(
      ({ kind, next }) => brokenRules(kind as never, next as never, next as never).length > 0,
    )
    expect(stored.length).to.be.greaterThan(100)
    expect(refusing.map(({ kind, name }) => `${kind.kind}: ${name}`)).to.deep.equal([])
  })

  it('runs rules for the fields in asksAbout, which include their own and all that they read', () => {
    for (const { kind, rules } of KINDS) {
      for (const rule of rules as readonly DeclaredRule<never>[]) {
        if (isTransitionRule(rule)) continue
        expect(rule.asksAbout, `${kind}: ${rule.cel}`).to.include(rule.field.split('.')[0])
        // No rule uses the spec as a whole, except a list that stands for containers.
        if (!rule.cel.startsWith('[self].')) expect(rule.cel, kind).not.to.match(/\bself\b(?!\.)/)
      }
    }
  })

  it('does not run transition rules on creation', () => {
    const broken = KINDS.flatMap<DeclaredRule<never>>(({ rules }) => rules as never)
      .filter(isTransitionRule)
      .map((rule) => ({ ...rule, test: () => false }))
    expect(broken.length).to.be.greaterThan(5)
    expect(brokenRules({ rules: broken }, {} as never)).to.deep.equal([])
    expect(brokenRules({ rules: broken }, {} as never, {} as never)).to.have.length(broken.length)
  })
})

describe('columns of kinds', () => {
  /** Metadata that every object has. */
  const METADATA = {
    properties: { name: { type: 'string' }, creationTimestamp: { type: 'string', format: 'date-time' } },
  }
  const columns = KINDS.flatMap((kind) => {
    const { spec } = crdManifest(kind) as unknown as {
      spec: {
        versions: {
          additionalPrinterColumns: { name: string; type: string; description?: string; jsonPath: string }[]
        }[]
      }
    }
    const schema = { ...rootOf(kind), properties: { ...rootOf(kind).properties, metadata: METADATA } }
    return (spec.versions[0]?.additionalPrinterColumns ?? []).map((column) => {
      return { ...column, title: `${kind.kind} ${column.name}`, field: fieldAt(schema, column.jsonPath) }
    })
  })

  it('show a field that exists', () => {
    expect(columns.length).to.be.greaterThan(2 * KINDS.length)
    expect(columns.filter(({ field }) => field === undefined).map(({ title }) => title)).to.deep.equal([])
  })

  it('have the type of their field', () => {
    // Any type can be shown as a string.
    const suits = (type: string, field: Schema) =>
      type === 'string' || field.type === (type === 'date' ? 'string' : type)
    const unlike = columns.filter(({ type, field = {} }) => !suits(type, field))
    expect(unlike.map(({ title, type, field }) => `${title}: ${type} of ${field?.type}`)).to.deep.equal([])
  })

  it('have a description', () => {
    const silent = columns.filter(({ description }) => description === undefined || description === '')
    expect(silent.map(({ title }) => title)).to.deep.equal([])
  })

  it('show one value, and use no path with [*]', () => {
    expect(columns.filter(({ jsonPath }) => jsonPath.includes('*')).map(({ title }) => title)).to.deep.equal([])
  })

  it('do not show a future time as an age', () => {
    const future = KINDS.flatMap(({ kind, columns }) =>
      columns
        .filter(({ type, path }) => type === 'date' && /expires|until|next|not?after|notbefore|due/i.test(path))
        .map(({ path }) => `${kind} ${path}`),
    )
    expect(future).to.deep.equal([])
  })
})

describe('scale subresources', () => {
  it('name fields of their kind: two numbers and a text', () => {
    const scaled = KINDS.filter(({ scale }) => scale !== undefined)
    expect(scaled.length).to.be.greaterThan(2)
    const types = scaled.map((kind) => {
      const { replicas = '', ready = '', selector = '' } = kind.scale ?? {}
      return [replicas, ready, selector].map((path) => fieldAt(rootOf(kind), path)?.type)
    })
    expect(types).to.deep.equal(scaled.map(() => ['integer', 'integer', 'string']))
  })
})
