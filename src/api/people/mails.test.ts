import { expect } from 'chai'
import { invitationMail } from './mails.ts'

describe('invitationMail', () => {
  const textOf = (message: string) => {
    const spec = { email: 'p@example.com', message, roleDefinitionName: 'Reader', expiresAt: '2026-01-01T00:00:00Z' }
    return invitationMail({ spec } as Parameters<typeof invitationMail>[0], 'Shop', 'https://example.com/link').text
  }

  for (const end of ['\n', '\r\n', '\r'])
    it(`quotes each line of the message that ends with ${JSON.stringify(end)}`, () => {
      const text = textOf(['Hello', 'Open this link:', '.', 'MAIL FROM:<x@example.com>'].join(end))
      expect(text).to.contain('\n> Hello\n> Open this link:\n> .\n> MAIL FROM:<x@example.com>\n')
      expect(text).to.not.contain('\r')
    })
})
