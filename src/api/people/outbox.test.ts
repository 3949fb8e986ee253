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

describe('createOutbox', () => {
  it('sends a mail and logs neither text nor address', async () => {
    const { outbox, mailer, lines } = open()
    outbox.send(mail)
    await outbox.whenIdle()
    expect(mailer.sent).to.deep.equal([mail])
    expect(lines.join()).to.not.contain('secret-token').and.to.not.contain('a@example.com')
  })

  it('sends a mail after three temporary failures', async () => {
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

  it('drops a mail after a permanent failure', async () => {
    const { outbox, mailer, clock } = open()
    mailer.failures.push(new MailError('no such mailbox', false))
    outbox.send(mail)
    await outbox.whenIdle()
    await clock.advance(600_000)
    await outbox.whenIdle()
    expect(mailer.sent).to.deep.equal([])
  })

  it('continues after a failed task, and refuses tasks above its limit', async () => {
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
