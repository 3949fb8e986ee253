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

describe('addresses that a build may reach for its repository', () => {
  const cases: [string, string, string[] | 'NotAllowed' | 'Unreachable'][] = [
    ['are those of a public host', 'https://git.example.com/a.git', ['93.184.216.34']],
    ['are the same over ssh', 'ssh://git@git.example.com:2222/a.git', ['93.184.216.34']],
    ['are all of a host that the configuration lists', 'https://inner.example.com/a.git', ['10.0.0.2']],
    ['are none if one of them is not public', 'https://half.example.com/a.git', 'NotAllowed'],
    ['are none of a name of the inside', 'https://kubernetes.default.svc/a.git', 'NotAllowed'],
    ['are none of the metadata of a cloud', 'https://169.254.169.254/a.git', 'NotAllowed'],
    ['are none of a name that nobody knows', 'https://nobody.example.com/a.git', 'Unreachable'],
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
