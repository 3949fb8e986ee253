import { expect } from 'chai'
import type { PlatformError } from '../../../core/errors.ts'
import type { Services } from '../../http/context.ts'
import { vetSourceUrl } from './address.ts'

const services = { sources: { allowedHosts: [] } } as unknown as Services

describe('the address of code', () => {
  for (const [sentence, address, says] of [
    ['may be a repository over https', 'https://git.example.com/acme/shop.git', undefined],
    ['may be a repository over ssh', 'ssh://git@git.example.com:2222/acme/shop.git', undefined],
    [
      'as Git hosts show it is told as a URL',
      'git@github.com:acme/shop.git',
      'write ssh://git@github.com/acme/shop.git.',
    ],
    [
      'without a user is told as a URL, too',
      'git.example.com:/srv/shop.git',
      'write ssh://git.example.com/srv/shop.git.',
    ],
    ['of another protocol is refused', 'file://git.example.com/shop', 'it is not https'],
    ['that is no address is refused', 'shop', 'it is not a URL'],
    ['of the inside is refused', 'ssh://git@10.0.0.1/shop.git', 'its address is not public'],
  ] as const) {
    it(sentence, () => {
      let message: string | undefined
      try {
        vetSourceUrl(services, address, 'baseUrl')
      } catch (error) {
        message = (error as PlatformError).message
      }
      if (says === undefined) expect(message).to.equal(undefined)
      else expect(message).to.include(says)
    })
  }
})
