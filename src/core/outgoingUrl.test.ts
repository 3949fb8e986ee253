import { expect } from 'chai'
import {
  isForbiddenOutgoingUrl,
  isPublicAddress,
  OUTGOING_URL_PATTERNS,
  sshAsHttps,
  vetOutgoingUrl,
} from './outgoingUrl.ts'

/** Hosts that are or resolve to private addresses. */
const INSIDE = [
  // Loopback.
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  'localhost.localdomain',
  '127.0.0.1',
  '127.0.0.1.',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0x7F.0.0.0x1',
  '017700000001',
  '0177.0.0.1',
  '0177.0x0.0.1',
  '0000177.0.0.1',
  '%31%32%37.0.0.1',
  '１２７.0.0.1',
  '127。0。0。1',
  '①②⑦.0.0.1',
  '0',
  '0.0.0.0',
  '0x0',
  '0.1.2.3',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000::0001]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:0001]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  // Private networks.
  '10.0.0.1',
  '10.255.255.255',
  '0xa.1',
  '167772161',
  '012.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '0xac100001',
  '192.168.0.1',
  '192.168.257',
  '3232235521',
  '100.64.0.1',
  '[fc00::1]',
  '[fd12:3456:789a::1]',
  '[FD00::1]',
  '[::ffff:10.0.0.1]',
  '[64:ff9b::10.0.0.1]',
  '[64:ff9b:1::1]',
  '[2002:0a00:0001::1]',
  '[2001:0:a00:1::1]',
  // Link-local and cloud metadata.
  '168.63.129.16',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '169.254.43518',
  '0251.0376.0251.0376',
  '[fe80::1]',
  '[febf::1]',
  '[::ffff:169.254.169.254]',
  '[fd00:ec2::254]',
  '[fec0::1]',
  '169.254.170.2',
  'metadata.google.internal',
  'metadata',
  '192.0.0.192',
  // Names that only internal resolvers know.
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  'kubernetes',
  'printer.local',
  'nas.lan',
  'wiki.corp',
  'router.home.arpa',
  'home.arpa',
  'router.home',
  'host.docker.internal',
  'WIKI.Intranet.',
  // Reserved.
  '224.0.0.1',
  '255.255.255.255',
  '240.0.0.1',
  '192.0.2.1',
  '198.51.100.7',
  '203.0.113.9',
  '198.18.0.1',
  '[ff02::1]',
  '192.88.99.1',
  '[2001:db8::1]',
  '[3fff::1]',
  '[100::1]',
]

describe('vetOutgoingUrl', () => {
  it('is tested with more than 60 private hosts', () => expect(new Set(INSIDE).size).to.be.greaterThan(60))

  for (const host of INSIDE) {
    it(`rejects ${host}`, () => {
      for (const text of [`https://${host}/x`, `https://${host}:8443/x`, `https:\\\\${host}\\x`])
        expect(vetOutgoingUrl(text).isAllowed, text).to.equal(false)
    })
  }

  const refused: [string, string][] = [
    ['plain HTTP', 'http://example.com/'],
    ['the file scheme', 'file:///etc/passwd'],
    ['the gopher scheme', 'gopher://example.com/'],
    ['a user before a private host', 'https://example.com@127.0.0.1/'],
    ['a user before a public host', 'https://user@example.com/'],
    ['a password before a public host', 'https://:password@example.com/'],
    ['a user and a password before a public host', 'https://user:password@example.com/'],
    ['a URL without a host', 'https://'],
    ['a path', '/x'],
    ['an empty string', ''],
    ['an invalid address', 'https://256.256.256.256/'],
    ['a URL of more than 2,048 characters', `https://example.com/${'x'.repeat(2048)}`],
  ]
  for (const [title, text] of refused)
    it(`rejects ${title}`, () => expect(vetOutgoingUrl(text).isAllowed).to.equal(false))

  const allowed = [
    'https://example.com/',
    'https://login.example.co.uk:8443/.well-known/openid-configuration',
    'https://EXAMPLE.com./x?y#z',
    'https://8.8.8.8/',
    'https://172.32.0.1/',
    'https://100.128.0.1/',
    'https://[2606:4700:4700::1111]/',
    'https://[3000::]/',
    'https://localhost.example.com/',
    'https://bücher.example/',
  ]
  for (const text of allowed)
    it(`allows ${text}`, () => expect(vetOutgoingUrl(text)).to.deep.equal({ isAllowed: true, url: new URL(text) }))

  it('allows a configured private host with exactly its port', () => {
    const url = new URL('https://keycloak.corp/x')
    expect(vetOutgoingUrl(url.href, ['keycloak.corp'])).to.deep.equal({ isAllowed: true, url })
    expect(vetOutgoingUrl('https://keycloak.corp:8443/x', ['keycloak.corp']).isAllowed).to.equal(false)
    expect(vetOutgoingUrl('https://keycloak.corp:8443/x', ['keycloak.corp:8443']).isAllowed).to.equal(true)
    expect(vetOutgoingUrl('http://keycloak.corp/x', ['keycloak.corp']).isAllowed).to.equal(false)
  })
})

describe('isForbiddenOutgoingUrl', () => {
  const { https, repository, proxy } = OUTGOING_URL_PATTERNS
  const cases: [string, pattern: string | undefined, value: unknown, boolean][] = [
    ['is true for a URL that is not https', String(https), 'http://example.com/', true],
    ['is true for a URL with credentials', String(repository), 'https://user@example.com/', true],
    ['is false for a URL that is only misspelled', String(proxy), 'https://example.com/?a', false],
    ['is false for a text that is no URL', String(https), 'example.com', false],
    ['is false for a value that is no text', String(https), 7, false],
    ['is false for fields whose URL is not called', '/^http/', 'http://example.com/', false],
    ['is false for fields without a pattern', undefined, 'http://example.com/', false],
  ]
  for (const [sentence, pattern, value, isForbidden] of cases)
    it(sentence, () => expect(isForbiddenOutgoingUrl(pattern, value)).to.equal(isForbidden))
})

describe('sshAsHttps', () => {
  const cases: [string, string, string][] = [
    ['leaves the user out', 'ssh://git@git.example.com/a', 'https://git.example.com/a'],
    ['needs no user', 'ssh://git.example.com:2222/a', 'https://git.example.com:2222/a'],
    ['keeps a password, which is refused', 'ssh://git:word@git.example.com/a', 'https://git:word@git.example.com/a'],
    ['leaves other URLs alone', 'https://a.example/ssh://b@c', 'https://a.example/ssh://b@c'],
  ]
  for (const [sentence, text, expected] of cases) it(sentence, () => expect(sshAsHttps(text)).to.equal(expected))
})

describe('isPublicAddress', () => {
  for (const address of ['8.8.8.8', '2606:4700:4700::1111']) {
    it(`is true for ${address}`, () => expect(isPublicAddress(address)).to.equal(true))
  }
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '::1',
    '::ffff:10.0.0.1',
    'fe80::1%eth0',
    '2606::1%1',
    '',
    'x',
  ]) {
    it(`is false for ${JSON.stringify(address)}`, () => expect(isPublicAddress(address)).to.equal(false))
  }
})

describe('OUTGOING_URL_PATTERNS', () => {
  const { https, repository, source } = OUTGOING_URL_PATTERNS
  for (const odd of [
    '\u0000',
    '\u0001',
    '\t',
    '\r\n',
    ' ',
    '\u007f',
    '\u0085',
    '\u00a0',
    '\u200b',
    '\u202e',
    '\u2028',
    '\u3000',
    '@',
  ]) {
    it(`reject a URL with ${JSON.stringify(odd)}`, () => {
      for (const pattern of [https, repository, source])
        expect(pattern.test(`https://git.example.com/acme/sh${odd}op`), String(pattern)).to.equal(false)
      expect(source.test(`ssh://git@git.example.com/acme/sh${odd}op`)).to.equal(false)
    })
  }

  it('accept only valid ports of a proxy', () => {
    const isTaken = (port: string) => OUTGOING_URL_PATTERNS.proxy.test(`https://api.example.com:${port}/v1`)
    expect(['1', '443', '8443', '10000', '59999', '65535'].filter((port) => !isTaken(port))).to.deep.equal([])
    expect(['', '0', '00443', '65536', '65540', '65600', '66000', '70000', '99999'].filter(isTaken)).to.deep.equal([])
    expect(OUTGOING_URL_PATTERNS.proxy.test('https://api.example.com')).to.equal(true)
  })

  it('accept ordinary paths, and a user for SSH', () => {
    for (const pattern of [https, repository, source])
      for (const path of ['acme/shop.git', '~ada/größe', 'a:b/c+d(e)', '%20'])
        expect(pattern.test(`https://git.example.com/${path}`), `${pattern} ${path}`).to.equal(true)
    expect(source.test('ssh://git@git.example.com:2222/acme/shop.git')).to.equal(true)
  })
})
