import { expect } from 'chai'
import { RULE_CASES } from '../../test/cases/ruleCases.ts'
import { controlsTaken, type TextField, textFields } from '../../test/make/textFields.ts'
import { type AnyKind, isTransitionRule } from './define.ts'
import { KINDS } from './index.ts'
import { structuralSchema } from './structural.ts'

/** Tabs and line breaks, as texts of several lines have them. */
const isOfLines = (text: string) => !/[^\P{Cc}\t\n\r]|[\u202a-\u202e\u2066-\u2069]/u.test(text)
const NUL = '\u0000'

/** Bidirectional control characters, but no C0 or C1 control character. */
const isTurning = (text: string) => !/\p{Cc}/u.test(text)

/** Which control characters a field may have, and why. */
const EXCEPTIONS: readonly [why: string, fields: RegExp, mayHave: (text: string) => boolean][] = [
  [
    'texts of several lines for users',
    /\.(description|reason|decisionReason|justification|message|detail)$/,
    isOfLines,
  ],
  ['the name of a role, as the role has it', /\.(defaultR|r)oleDefinitionName$/, isTurning],
  ['documents of several lines', /^BlueprintTemplate\.content$|\.signingCertificate$/, isOfLines],
  [
    'arguments and variables of processes',
    /\.(args|\w*[cC]ommand|\w*[eE]nv(\.value)?)$/,
    (text) => !text.includes(NUL),
  ],
  ['JSON made of checked fields', /^BlueprintExecution\.steps\.(body|manifest|patch)$/, () => true],
  [
    'values of parameters and outputs, which may be secrets',
    /^BlueprintExecution\.(parameters|steps\.value|outputs\.value)$/,
    () => true,
  ],
  ['values of a chart of any type', /^PlatformComponent\.values(\{name\})?$/, () => true],
  [
    'identities as the identity provider states them, for comparison',
    /^PlatformUser\.externalIdentity\.(issuer|subject|claims(\{name\})?)$/,
    () => true,
  ],
]

const SAMPLES = new Map<AnyKind, object>()
function sampleOf(kind: AnyKind): object {
  const { next = {} } = RULE_CASES.find((one) => one.kind === kind && one.refused.length === 0) ?? {}
  const sample = SAMPLES.get(kind) ?? (kind.spec.safeParse(next).data as object)
  SAMPLES.set(kind, sample)
  return sample
}

/** What a rule of the kind refuses where the schema of the field cannot: in a list, a field, or the name of an entry. */
function isRefusedByRule(kind: AnyKind, path: string, text: string): boolean {
  const [, field = '', isName] = /^\w+\.(\w+)(\{name\})?$/.exec(path) ?? []
  const spec = { ...sampleOf(kind), [field]: isName === undefined ? text : { [text]: 'x' } }
  return kind.rules.some(
    (rule) => rule.field === field && !isTransitionRule(rule) && !rule.test(spec as never, spec as never),
  )
}

describe('control characters in fields of kinds', () => {
  const fields = KINDS.flatMap((kind) => textFields(kind.spec, kind.kind).map((field) => ({ ...field, kind })))
  const takenBy = ({ kind, ...field }: TextField & { kind: AnyKind }) =>
    controlsTaken(field)
      .filter((text) => !EXCEPTIONS.some(([, where, mayHave]) => where.test(field.path) && mayHave(text)))
      .filter((text) => !isRefusedByRule(kind, field.path, text))

  it('are tested in more than 500 fields', () => {
    expect(fields).to.have.length.above(500)
  })

  for (const kind of KINDS) {
    it(`are rejected by all fields of ${kind.kind} except the listed ones`, () => {
      const own = fields.filter((field) => field.kind === kind)
      const accepted = own.flatMap((field) => {
        const [first] = takenBy(field)
        return first === undefined ? [] : [`${field.path}: ${JSON.stringify(first)}`]
      })
      expect(accepted).to.deep.equal([])
    })

    it(`are written in RE2 syntax in the schema of ${kind.kind}`, () => {
      expect(JSON.stringify(structuralSchema(kind.spec, 'spec'))).to.not.match(/\\\\u[0-9a-f{]/)
    })
  }

  it('are accepted by each listed exception', () => {
    const unused = EXCEPTIONS.filter(
      ([, where, mayHave]) => !fields.some((field) => where.test(field.path) && controlsTaken(field).some(mayHave)),
    )
    expect(unused.map(([why]) => why)).to.deep.equal([])
  })
})
