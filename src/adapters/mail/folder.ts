import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { MailError, type Mailer } from './port.ts'

/**
 * Writes mails as JSON files to a folder, readable by their owner only: for trying the platform without a mail server.
 * File names begin with the time, so that they sort.
 */
export function createFolderMailer(folder: string, clock: Clock): Mailer {
  return {
    async send({ to, subject, text }) {
      const name = `${new Date(clock.now()).toISOString().replaceAll(':', '')}-${randomUUID()}.json`
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        // Renamed when complete, so that readers never see a partial mail.
        await writeFile(join(folder, `.${name}`), JSON.stringify({ to, subject, text }), { mode: 0o600 })
        await rename(join(folder, `.${name}`), join(folder, name))
      } catch (error) {
        throw new MailError(`The mail could not be written to the folder ${folder}.`, true, { cause: error })
      }
    },
    async close() {},
  }
}
