import { expect } from 'chai'
import { parseProviderMetadata } from './ssoDiscovery.ts'

const ISSUER = 'https://login.acme.example'
const OTHER = 'https://login.evil.example'
const WELL_KNOWN = `${ISSUER}/.well-known/openid-configuration`
const discovery = (issuer: string) =>
  JSON.stringify({
    issuer,
    authorization_endpoint: `${ISSUER}/auth`,
    token_endpoint: `${ISSUER}/token`,
    jwks_uri: `${ISSUER}/keys`,
  })
const SIGN_ON = '<md:SingleSignOnService Binding="redirect" Location="https://login.acme.example/saml"/>'
const entity = (id: string, content = `<md:IDPSSODescriptor>${SIGN_ON}</md:IDPSSODescriptor>`) =>
  `<md:EntityDescriptor entityID="${id}">${content}</md:EntityDescriptor>`
const saml = (...ids: string[]) =>
  `<md:EntitiesDescriptor>${ids.map((id) => entity(id)).join('')}</md:EntitiesDescriptor>`

describe('metadata of an identity provider', () => {
  const oidc: [sentence: string, text: string, asked: { metadataUrl?: string; issuer?: string }, why?: string][] = [
    ['is taken where it is of the issuer of its address', discovery(ISSUER), {}],
    ['is taken where it is of the issuer that is named', discovery(ISSUER), { issuer: ISSUER }],
    ['is taken with a slash at the end, which its address has not', discovery(`${ISSUER}/`), {}],
    [
      'is taken from elsewhere where it is of the issuer that is named',
      discovery(ISSUER),
      { metadataUrl: 'https://files.acme.example/oidc.json', issuer: ISSUER },
    ],
    ['is not where it is of a different issuer than its address names', discovery(OTHER), {}, 'than its address names'],
    [
      'is not where it is of another issuer than is named, as its address has it',
      discovery(ISSUER),
      { issuer: OTHER },
      'than "issuer" names',
    ],
    [
      'is not from elsewhere where it is of another issuer than is named',
      discovery(ISSUER),
      { metadataUrl: 'https://files.acme.example/oidc.json', issuer: OTHER },
      'than "issuer" names',
    ],
    ['is not where only a slash differs', discovery(ISSUER), { issuer: `${ISSUER}/` }, 'than "issuer" names'],
    ['is not without an issuer', '{}', {}, 'not a discovery document'],
    ['is not if it is no document at all', 'no', { issuer: ISSUER }, 'not a discovery document'],
    [
      'is not with more values than any has',
      JSON.stringify({
        ...JSON.parse(discovery(ISSUER)),
        token_endpoint_auth_methods_supported: Array(30_000).fill('a'),
      }),
      {},
      'not a discovery document',
    ],
  ]
  for (const [sentence, text, asked, why] of oidc) {
    it(`${sentence} (Oidc)`, () => {
      const read = parseProviderMetadata(text, { protocol: 'Oidc', metadataUrl: WELL_KNOWN, ...asked })
      if (why === undefined) expect(read).to.have.nested.property('endpoints.tokenUrl', `${ISSUER}/token`)
      else expect(read).to.have.property('why').that.contains(why)
    })
  }

  const entities: [sentence: string, text: string, issuer: string | undefined, why?: string][] = [
    ['is taken where no issuer is named', saml(ISSUER), undefined],
    ['is taken where it has the entity that is named', saml(OTHER, ISSUER), ISSUER],
    ['is taken where XML writes its id otherwise', saml(`${ISSUER}/?a=b&amp;c=d`), `${ISSUER}/?a=b&c=d`],
    ['is not where it has another entity', saml(ISSUER), OTHER, 'than "issuer" names'],
    ['is not where it has none', saml(), OTHER, 'than "issuer" names'],
    ['is not with a definition of its own', `<!DOCTYPE a>${saml(ISSUER)}`, undefined, 'not SAML metadata'],
    ['is not if it is a page', '<html>', undefined, 'not SAML metadata'],
    [
      'is taken with all that XML may have around it',
      `\uFEFF<?xml version="1.0"?>\n<!-- <a> -->${entity(ISSUER, `<![CDATA[<b>]]>&#x41; <md:IDPSSODescriptor a = '>' >${SIGN_ON}</md:IDPSSODescriptor >`)}\n`,
      ISSUER,
    ],
    ['is not if it is cut off', saml(ISSUER).slice(0, -10), undefined, 'not SAML metadata'],
    ['is not if an element is not closed', saml(ISSUER).replace('"/>', '">'), undefined, 'not SAML metadata'],
    ['is not if two elements cross', `<a>${saml(ISSUER)}<b></a></b>`, undefined, 'not SAML metadata'],
    ['is not if something comes behind it', `${saml(ISSUER)}<a/>`, undefined, 'not SAML metadata'],
    ['is not in text', `see ${saml(ISSUER)}`, undefined, 'not SAML metadata'],
    ['is not with a broken attribute', saml(ISSUER).replace('"redirect"', 'redirect'), undefined, 'not SAML metadata'],
    ['is not with a stray ampersand', saml(`${ISSUER}?a&b`), undefined, 'not SAML metadata'],
    [
      'is not if nobody signs in there',
      entity(ISSUER, '<md:SPSSODescriptor/>'),
      undefined,
      'describes no identity provider',
    ],
    [
      'is not if it does not say where',
      entity(ISSUER, '<md:IDPSSODescriptor/>'),
      undefined,
      'describes no identity provider',
    ],
  ]
  for (const [sentence, text, issuer, why] of entities) {
    it(`${sentence} (Saml)`, () => {
      const read = parseProviderMetadata(text, {
        protocol: 'Saml',
        metadataUrl: 'https://login.acme.example/saml',
        issuer,
      })
      if (why === undefined) expect(read).to.deep.equal({ endpoints: undefined })
      else expect(read).to.have.property('why').that.contains(why)
    })
  }
})
