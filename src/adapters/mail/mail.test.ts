import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { systemClock } from '../../core/clock.ts'
import { createFolderMailer } from './folder.ts'
import { MailError } from './port.ts'
import { createSmtpMailer, requiresStarttls } from './smtp.ts'

const mail = {
  to: 'anna@example.com',
  subject: 'You are invited to Größe',
  text: 'Hello,\n\nhttps://x/invitations/abc\n',
}

type Received = { from: string; to: string[]; text: string }

/** A mail server on loopback that keeps what it receives. */
async function startServer(options: SMTPServerOptions = {}) {
  const received: Received[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom === false ? '' : mailFrom.address
        received.push({ from, to: rcptTo.map(({ address }) => address), text: Buffer.concat(parts).toString() })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.server.address() as AddressInfo
  return { received, port, stop: () => new Promise<void>((done) => server.close(() => done())) }
}

async function failure(promise: Promise<unknown>): Promise<MailError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof MailError) return error
    throw error
  }
  throw new Error('Nothing was thrown.')
}

describe('createSmtpMailer', () => {
  it('sends mail with its sender, recipient, subject and text', async () => {
    const server = await startServer()
    const mailer = createSmtpMailer({ url: `smtp://127.0.0.1:${server.port}`, from: 'freehold@example.test' })
    await mailer.send(mail)
    await mailer.close()
    await server.stop()
    const [found] = server.received
    expect(found).to.include({ from: 'freehold@example.test' })
    expect(found?.to).to.deep.equal(['anna@example.com'])
    expect(found?.text).to.contain('https://x/invitations/abc')
    expect(found?.text).to.match(/^Subject: =\?UTF-8\?/m)
  })

  it('signs in with the credentials from its URL', async () => {
    const seen: string[] = []
    const server = await startServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth(auth, _session, done) {
        seen.push(`${auth.username}/${auth.password}`)
        done(null, { user: auth.username })
      },
    })
    const url = `smtp://post:p%40ss%2Fword@127.0.0.1:${server.port}`
    const mailer = createSmtpMailer({ url, from: 'freehold@example.test' })
    await mailer.send(mail)
    await mailer.close()
    await server.stop()
    expect(seen).to.deep.equal(['post/p@ss/word'])
  })

  it('sends mail to a single recipient, whatever the address contains', async () => {
    const server = await startServer()
    const mailer = createSmtpMailer({ url: `smtp://127.0.0.1:${server.port}`, from: 'freehold@example.test' })
    for (const to of ['a@example.com, b@example.com', 'a@example.com\r\nBcc: b@example.com']) {
      await mailer.send({ ...mail, to }).catch(() => {})
    }
    await mailer.close()
    await server.stop()
    expect(server.received.flatMap(({ to }) => to)).to.not.include('b@example.com')
  })

  for (const [title, code, isTemporary] of [
    ['permanently (550)', 550, false],
    ['temporarily (451)', 451, true],
  ] as const) {
    it(`reports a recipient refused ${title} without quoting the server`, async () => {
      const server = await startServer({
        onRcptTo: (_address, _session, done) => done(Object.assign(new Error('secret words'), { responseCode: code })),
      })
      const mailer = createSmtpMailer({ url: `smtp://127.0.0.1:${server.port}`, from: 'freehold@example.test' })
      const error = await failure(mailer.send(mail))
      await mailer.close()
      await server.stop()
      expect([error.isTemporary, error.message.includes(String(code))]).to.deep.equal([isTemporary, true])
      expect(error.message).to.not.contain('secret words')
    })
  }

  it('sends neither credentials nor mail if STARTTLS is required and not offered', async () => {
    const seen: string[] = []
    const server = await startServer({
      allowInsecureAuth: true,
      onAuth: (auth, _session, done) => {
        seen.push(`${auth.username}`)
        done(null, { user: auth.username })
      },
      onMailFrom: (address, _session, done) => {
        seen.push(address.address)
        done()
      },
    })
    const url = `smtp://post:secret@127.0.0.1:${server.port}?starttls=required`
    const mailer = createSmtpMailer({ url, from: 'freehold@example.test' })
    const error = await failure(mailer.send(mail))
    await mailer.close()
    await server.stop()
    expect(seen).to.deep.equal([])
    expect([error.isTemporary, error.message]).to.deep.equal([
      false,
      `The mail server 127.0.0.1:${server.port} does not encrypt the connection by STARTTLS. Use smtps://, or add ?starttls=optional to its URL if the network to it is trusted.`,
    ])
  })

  for (const [title, url, expected] of [
    ['requires STARTTLS of another host', 'smtp://mail.example.com', true],
    ['requires STARTTLS of a service in the cluster', 'smtp://relay.mail.svc:25', true],
    ['does not require STARTTLS on loopback', 'smtp://127.0.0.1:1025', false],
    ['does not require STARTTLS if the URL says so', 'smtp://relay.mail.svc:25?starttls=optional', false],
    ['requires STARTTLS if the option is misspelled', 'smtp://relay.mail.svc:25?starttls=optionel', true],
  ] as const) {
    it(title, () => {
      expect(requiresStarttls(new URL(url))).to.equal(expected)
    })
  }

  it('reports a temporary error if the server does not answer', async () => {
    const server = await startServer()
    await server.stop()
    const mailer = createSmtpMailer({ url: `smtp://127.0.0.1:${server.port}`, from: 'freehold@example.test' })
    const error = await failure(mailer.send(mail))
    await mailer.close()
    expect(error.isTemporary).to.equal(true)
    expect(error.message).to.contain('did not answer')
  })
})

describe('createFolderMailer', () => {
  it('writes each mail to its own file with no permissions for others', async () => {
    const root = await mkdtemp(join(tmpdir(), 'mails-'))
    const folder = join(root, 'mails')
    const mailer = createFolderMailer(folder, systemClock)
    await mailer.send(mail)
    await mailer.send(mail)
    const names = await readdir(folder)
    expect(names).to.have.length(2)
    const path = join(folder, names[0] ?? '')
    expect(JSON.parse(await readFile(path, 'utf8'))).to.deep.equal(mail)
    expect((await stat(path)).mode & 0o077).to.equal(0)
    await rm(root, { recursive: true })
  })

  it('reports a folder that cannot be written without quoting the mail', async () => {
    const error = await failure(createFolderMailer('/dev/null/mails', systemClock).send(mail))
    expect(error.message).to.not.contain('abc')
  })
})
