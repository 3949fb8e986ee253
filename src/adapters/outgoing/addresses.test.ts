import { expect } from 'chai'
import { createAddressResolver } from './addresses.ts'
import { OutgoingError } from './port.ts'

const NAMES: Record<string, string[]> = {
  'git.example.com': ['93.184.216.34'],
  'half.example.com': ['93.184.216.34', '10.0.0.1'],
  'inner.example.com': ['10.0.0.2'],
}
const lookup = async (host: string) => {
  const found = NAMES[host]
  if (found === undefined) throw new Error('ENOTFOUND')
  return found.map((address) => ({ address }))
}
const addressesOf = createAddressResolver(['inner.example.com'], lookup)

describe('createAddressResolver', () => {
  const cases: [string, string, string[] | 'NotAllowed' | 'Unreachable'][] = [
    ['returns the addresses of a public host', 'https://git.example.com/a.git', ['93.184.216.34']],
    ['returns the addresses of an SSH host', 'ssh://git@git.example.com:2222/a.git', ['93.184.216.34']],
    ['returns private addresses of an allowed host', 'https://inner.example.com/a.git', ['10.0.0.2']],
    ['reports NotAllowed if one address is private', 'https://half.example.com/a.git', 'NotAllowed'],
    ['reports NotAllowed for a cluster-internal name', 'https://kubernetes.default.svc/a.git', 'NotAllowed'],
    ['reports NotAllowed for the metadata address', 'https://169.254.169.254/a.git', 'NotAllowed'],
    ['reports Unreachable for a name that does not resolve', 'https://nobody.example.com/a.git', 'Unreachable'],
  ]
  for (const [title, url, expected] of cases) {
    it(title, async () => {
      const answer = await addressesOf(url).catch((error: unknown) => {
        if (!(error instanceof OutgoingError)) throw error
        return error.reason
      })
      expect(answer).to.deep.equal(expected)
    })
  }
})
