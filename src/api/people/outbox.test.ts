import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { FakeMailer } from '../../adapters/mail/fake.ts'
import { MailError } from '../../adapters/mail/port.ts'
import { type Log, silentLog } from '../../core/log.ts'
import { createOutbox } from './outbox.ts'

const mail = { to: 'a@example.com', subject: 'Hello', text: 'https://x/invitations/secret-token' }

function open() {
  const clock = new ManualClock()
  const mailer = new FakeMailer()
  const lines: string[] = []
  const note = (fields: object, message: string) => void lines.push(JSON.stringify(fields) + message)
  const log: Log = { ...silentLog, debug: note, info: note, warn: note, error: note }
  return { clock, mailer, lines, outbox: createOutbox({ mailer, log, clock }) }
}

describe('the outbox', () => {
  it('sends, and logs neither the text nor the address', async () => {
    const { outbox, mailer, lines } = open()
    outbox.send(mail)
    await outbox.whenIdle()
    expect(mailer.sent).to.deep.equal([mail])
    expect(lines.join()).to.not.contain('secret-token').and.to.not.contain('a@example.com')
  })

  it('tries again later what may go through, four times in all', async () => {
    const { outbox, mailer, clock } = open()
    mailer.failures.push(...Array.from({ length: 3 }, () => new MailError('away', true)))
    outbox.send(mail)
    for (let time = 0; time < 4; time += 1) {
      await outbox.whenIdle()
      await clock.advance(60_000)
    }
    await outbox.whenIdle()
    expect(mailer.sent).to.have.length(1)
  })

  it('gives up on what was refused for good', async () => {
    const { outbox, mailer, clock } = open()
    mailer.failures.push(new MailError('no such mailbox', false))
    outbox.send(mail)
    await outbox.whenIdle()
    await clock.advance(600_000)
    await outbox.whenIdle()
    expect(mailer.sent).to.deep.equal([])
  })

  it('goes on after work that failed, and drops what is too much', async () => {
    const { outbox, mailer } = open()
    outbox.later('broken', () => Promise.reject(new Error('broken')))
    outbox.send(mail)
    const kept = Array.from({ length: 1100 }, () => outbox.later('filler', async () => {})).filter(Boolean)
    expect(kept.length).to.equal(998)
    await outbox.whenIdle()
    expect(mailer.sent).to.have.length(1)
    expect(outbox.later('after', async () => {})).to.equal(true)
  })
})
