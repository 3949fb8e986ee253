import { expect } from 'chai'
import type { z } from 'zod'
import { controlsTaken, textFields } from '../../../test/make/textFields.ts'
import { KINDS } from '../../crds/index.ts'
import { SERVED_ROUTES } from '../index.ts'

/** Lines and tabs, which texts of several lines have. */
const isOfLines = (text: string) => !/[^\P{Cc}\t\n\r]|[\u202a-\u202e\u2066-\u2069]/u.test(text)
const isAny = () => true
/** Overrides of the text direction, but no control of C0 or C1. */
const isTurning = (text: string) => !/\p{Cc}/u.test(text)

/** Fields that accept control characters although no field of a spec with that name does: why, and which. */
const EXCEPTIONS: readonly [why: string, fields: RegExp, mayHave: (text: string) => boolean][] = [
  ['a rule of the kind rejects them on each write', /\.allowedCidrs$/, isAny],
  ['texts of several lines', /\.(detail|reason|justification|certificatePem|signingCertificate)$/, isOfLines],
  ['the name of a role, which may contain them', /\.(defaultR|r)oleDefinitionName$/, isTurning],
  ['the content of a file is arbitrary', /\/source \.files\.content$/, isAny],
  [
    'a template is validated as a whole, and by the schema when it is stored',
    /\/templates(\/validate)? \.content$/,
    isAny,
  ],
  ['a process receives it as it is', /\.(\w*[eE]nv(\.value)?|args|\w*[cC]ommand)$/, isAny],
  ['a secret is never displayed', /\.(\w*[pP]assword|\w+Secret|accessToken|privateKey|token)$/, isAny],
  ['rows and statements are for the database', /\/editor\//, isAny],
  ['values of a chart are for the chart', /\/install \.values(\{name\})?$/, isAny],
  ['lines of a log contain colours, and are shown as text', /\/logs \.(lines|text)$/, isAny],
  ['a test call passes its body on as it is', /\/invoke \.body$/, isAny],
  ['the path is validated before a file is touched', /\/files\/move \.(from|to)$/, isAny],
  ['the URL is validated before it is requested', /\/sources\/.* \.(registryUrl|importUrl)$/, isAny],
  [
    'it is only looked up or compared, and nothing has such a name',
    /\.(newName|resourceGroupName|siteName|action|templateSlug|configKey|liveValue|fields\.(step|field))$/,
    isAny,
  ],
  ['credentials for the registry are compared with the stored ones', /\/auth\/token /, isAny],
  ['only known fields of notifications of the registry and Alertmanager are read', /\/(notify|alertmanager) /, isAny],
]

describe('control characters in the text fields of bodies', () => {
  const specs = KINDS.flatMap((kind) => textFields(kind.spec, kind.kind))
  const nameOf = (path: string) => path.slice(path.lastIndexOf('.') + 1)
  /** By field name, the control characters that every spec accepts: stored texts are checked by the schema of their spec. */
  const takenInSpecs = new Map<string, Set<string>>()
  for (const field of specs) {
    const others = takenInSpecs.get(nameOf(field.path))
    const accepted = controlsTaken(field).filter((text) => others?.has(text) ?? true)
    takenInSpecs.set(nameOf(field.path), new Set(accepted))
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

  it('are tried in more than 600 fields', () => {
    expect(fields).to.have.length.above(600)
  })

  it('are rejected except in the listed fields', () => {
    const unsaid = open.flatMap((field) => {
      const isSaid = (text: string) => EXCEPTIONS.some(([, where, mayHave]) => where.test(field.path) && mayHave(text))
      const [first] = field.taken.filter((text) => !isSaid(text))
      return first === undefined ? [] : [`${field.path}: ${JSON.stringify(first)}`]
    })
    expect(unsaid).to.deep.equal([])
  })

  it('are accepted by a field of each exception', () => {
    const unused = EXCEPTIONS.filter(([, where]) => !open.some(({ path }) => where.test(path)))
    expect(unused.map(([why]) => why)).to.deep.equal([])
  })
})
