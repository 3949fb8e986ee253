import { expect } from 'chai'
import type { z } from 'zod'
import { controlsTaken, textFields } from '../../../test/make/textFields.ts'
import { KINDS } from '../../crds/index.ts'
import { SERVED_ROUTES } from '../index.ts'

/** Lines and tabs, which texts of several lines have. */
const isOfLines = (text: string) => !/[^\P{Cc}\t\n\r]|[\u202a-\u202e\u2066-\u2069]/u.test(text)
const isAny = () => true
/** What turns the direction of text, and no control of C0 or C1. */
const isTurning = (text: string) => !/\p{Cc}/u.test(text)

/** Fields that take control characters although no field of a spec with that name does: why, and which. */
const EXCEPTIONS: readonly [why: string, fields: RegExp, mayHave: (text: string) => boolean][] = [
  ['a rule of the kind refuses them when it is written', /\.allowedCidrs$/, isAny],
  ['words of several lines', /\.(detail|reason|justification|certificatePem|signingCertificate)$/, isOfLines],
  ['the name of a role, as that has it', /\.(defaultR|r)oleDefinitionName$/, isTurning],
  ['a file has whatever content', /\/source \.files\.content$/, isAny],
  ['a template is judged as a whole, and by the schema when it is kept', /\/templates(\/validate)? \.content$/, isAny],
  ['it is what a process is given', /\.(\w*[eE]nv(\.value)?|args|\w*[cC]ommand)$/, isAny],
  ['a secret is no name, and is shown nowhere', /\.(\w*[pP]assword|\w+Secret|accessToken|privateKey|token)$/, isAny],
  ['rows and statements hold what the database takes', /\/editor\//, isAny],
  ['values of a chart are for the chart', /\/install \.values(\{name\})?$/, isAny],
  ['lines of a log have colours, and are shown as text', /\/logs \.(lines|text)$/, isAny],
  ['a test call passes its body on as it is', /\/invoke \.body$/, isAny],
  ['the path is judged before a file is touched', /\/files\/move \.(from|to)$/, isAny],
  ['the address is judged before it is called', /\/sources\/.* \.(registryUrl|importUrl)$/, isAny],
  [
    'it is only looked up or compared, and there is nothing of such a name',
    /\.(newName|resourceGroupName|siteName|action|templateSlug|configKey|liveValue|fields\.(step|field))$/,
    isAny,
  ],
  ['of a record that was read: it is ignored', /^PUT \/clusters\/\{clusterId\} /, isAny],
  ['credentials for the registry are compared with those that there are', /\/auth\/token /, isAny],
  ['what the registry or Alertmanager tells is read for what is known of it', /\/(notify|alertmanager) /, isAny],
]

describe('control characters in bodies', () => {
  const specs = KINDS.flatMap((kind) => textFields(kind.spec, kind.kind))
  const nameOf = (path: string) => path.slice(path.lastIndexOf('.') + 1)
  /** What is stored under such a name is read by the schema of the spec first, whoever writes it: what all of them take. */
  const takenInSpecs = new Map<string, Set<string>>()
  for (const field of specs) {
    const others = takenInSpecs.get(nameOf(field.path))
    const taken = controlsTaken(field).filter((text) => others?.has(text) ?? true)
    takenInSpecs.set(nameOf(field.path), new Set(taken))
  }
  const seen = new Set<string>()
  const fields = SERVED_ROUTES.flatMap(({ method, path, body, documentedBody: whole = body }) =>
    whole === undefined ? [] : textFields(whole as z.ZodType, `${method} ${path} `),
  )
    .filter(({ schema }) => schema.def.type !== 'unknown' && schema.def.type !== 'any')
    .filter(({ path }) => !seen.has(path) && seen.add(path))
  const open = fields
    .map((field) => {
      const inSpecs = takenInSpecs.get(nameOf(field.path))
      return { path: field.path, taken: controlsTaken(field).filter((text) => inSpecs?.has(text) ?? true) }
    })
    .filter(({ taken }) => taken.length > 0)

  it('are looked for in every field that takes text', () => {
    expect(fields).to.have.length.above(600)
  })

  it('are refused, or it is said what becomes of them', () => {
    const unsaid = open.flatMap((field) => {
      const isSaid = (text: string) => EXCEPTIONS.some(([, where, mayHave]) => where.test(field.path) && mayHave(text))
      const [first] = field.taken.filter((text) => !isSaid(text))
      return first === undefined ? [] : [`${field.path}: ${JSON.stringify(first)}`]
    })
    expect(unsaid).to.deep.equal([])
  })

  it('are spoken of where there are any', () => {
    const unused = EXCEPTIONS.filter(([, where]) => !open.some(({ path }) => where.test(path)))
    expect(unused.map(([why]) => why)).to.deep.equal([])
  })
})
