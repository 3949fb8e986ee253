import { expect } from 'chai'
import type { PlatformError } from '../../../core/errors.ts'
import type { Services } from '../../http/context.ts'
import { vetSourceUrl } from './address.ts'

const services = { sources: { allowedHosts: [] } } as unknown as Services

describe('vetSourceUrl', () => {
  for (const [sentence, address, reason] of [
    ['accepts an https URL', 'https://git.example.com/acme/shop.git', undefined],
    ['accepts an ssh URL', 'ssh://git@git.example.com:2222/acme/shop.git', undefined],
    [
      'suggests the ssh URL for an scp-like address',
      'git@github.com:acme/shop.git',
      'write ssh://git@github.com/acme/shop.git.',
    ],
    [
      'suggests the ssh URL for an scp-like address without a user',
      'git.example.com:/srv/shop.git',
      'write ssh://git.example.com/srv/shop.git.',
    ],
    ['rejects a file URL', 'file://git.example.com/shop', 'it is not https'],
    ['rejects text that is not a URL', 'shop', 'it is not a URL'],
    ['rejects a private address', 'ssh://git@10.0.0.1/shop.git', 'its address is not public'],
  ] as const) {
    it(sentence, () => {
      let message: string | undefined
      try {
        vetSourceUrl(services, address, 'baseUrl')
      } catch (error) {
        message = (error as PlatformError).message
      }
      if (reason === undefined) expect(message).to.equal(undefined)
      else expect(message).to.include(reason)
    })
  }
})
