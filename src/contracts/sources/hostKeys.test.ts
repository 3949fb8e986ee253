import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { hostKeysIn, knownHostsOf } from './hostKeys.ts'

const KEY = 'ssh-ed25519 AAAAC3Nza'
const HOST = 'ssh://git@Git.Example.com/acme/shop.git'

/** A line of a hashed known_hosts, as `ssh-keygen -H` writes it. */
function hashed(name: string): string {
  const salt = Buffer.from('0123456789abcdefghij')
  return `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(name).digest('base64')} ${KEY}`
}

describe('knownHostsOf', () => {
  const cases: [sentence: string, given: string | undefined, hostKey: string | undefined, expected: unknown][] = [
    ['trusts anything before the first connection', undefined, undefined, undefined],
    ['trusts the first key of the host afterwards', undefined, KEY, `git.example.com ${KEY}\n`],
    ['trusts only the lines of the Secret if it has some', `a ${KEY}`, 'ssh-rsa BBBB', `a ${KEY}\n`],
    ['ends every line by one line feed', `a ${KEY}\r\nb ${KEY}\r\n\r\n`, undefined, `a ${KEY}\nb ${KEY}\n`],
    ['takes blank lines for none', ' \n', KEY, `git.example.com ${KEY}\n`],
  ]
  for (const [sentence, given, hostKey, expected] of cases) {
    it(sentence, () => {
      const credentials = given === undefined ? {} : { 'known-hosts': given }
      expect(knownHostsOf({ baseUrl: HOST, credentials, hostKey })).to.equal(expected)
    })
  }

  const names: [address: string, name: string][] = [
    ['ssh://git.example.com:22/a', 'git.example.com'],
    ['ssh://git.example.com:2222/a', '[git.example.com]:2222'],
    ['ssh://[2001:DB8::1]/a', '2001:db8::1'],
    ['ssh://[2001:db8::1]:2222/a', '[2001:db8::1]:2222'],
  ]
  for (const [baseUrl, name] of names)
    it(`names the host of ${baseUrl} as OpenSSH does`, () =>
      expect(knownHostsOf({ baseUrl, credentials: {}, hostKey: KEY })).to.equal(`${name} ${KEY}\n`))
})

describe('hostKeysIn', () => {
  const cases: [sentence: string, line: string, expected: string[]][] = [
    ['finds the key of the host', `git.example.com ${KEY} comment`, [KEY]],
    ['ignores spaces around a line', `  git.example.com   ${KEY}  `, [KEY]],
    ['finds one of several names', `other.example.com,GIT.example.com ${KEY}`, [KEY]],
    ['finds a hashed name', hashed('git.example.com'), [KEY]],
    ['skips another hashed name', hashed('other.example.com'), []],
    ['skips a broken hashed name', hashed('git.example.com').replace('|1|', '|1||1|'), []],
    ['skips a hashed name with more behind it', hashed('git.example.com').replace(' ', ',x '), []],
    ['skips another host', `a.git.example.com ${KEY}`, []],
    ['skips another port', `[git.example.com]:2222 ${KEY}`, []],
    ['skips wildcards', `*.example.com,* ${KEY}`, []],
    ['skips revoked keys', `@revoked git.example.com ${KEY}`, []],
    ['skips comments', `#git.example.com ${KEY}`, []],
    ['skips lines without a key', 'git.example.com ssh-ed25519', []],
    ['skips lines without a type', 'git.example.com', []],
    ['skips empty lines', '', []],
  ]
  for (const [sentence, line, expected] of cases)
    it(sentence, () => expect(hostKeysIn(line, HOST)).to.deep.equal(expected))

  it('finds all keys of the host', () => {
    expect(hostKeysIn(`git.example.com ${KEY}\ngit.example.com ssh-rsa BBBB\n`, HOST)).to.deep.equal([
      KEY,
      'ssh-rsa BBBB',
    ])
  })
})
