import { resolve } from 'node:path'
import { expect } from 'chai'
import { downCommand, setupCommand } from './summary.ts'

describe('downCommand and setupCommand', () => {
  for (const [sentence, folder, down, setup] of [
    ['are short for the default folder', resolve('.freehold'), 'npm run down', 'freehold setup --dev'],
    ['name another folder', '/tmp/one', 'npm run down -- --data /tmp/one', 'freehold setup --dev /tmp/one/dev.json'],
    [
      'quote a folder for the shell',
      "/tmp/my one's",
      "npm run down -- --data '/tmp/my one'\\''s'",
      "freehold setup --dev '/tmp/my one'\\''s/dev.json'",
    ],
  ] as const) {
    it(sentence, () => expect([downCommand(folder), setupCommand(folder)]).to.deep.equal([down, setup]))
  }
})
