import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { driverAndTests } from './csi.ts'

/** Mounts end with the namespace. */
const SCRIPT = `
"$driver" "$folder/disks" "$folder/csi.sock" "$folder/registration.sock" node 2> /dev/null &
running=$!
until [ -S "$folder/csi.sock" ]; do sleep 0.1; done
"$tests" --csi.endpoint="unix://$folder/csi.sock" --csi.mountdir="$folder/mounted" --csi.stagingdir="$folder/staged" --ginkgo.no-color
code=$?
kill $running
exit $code`

describe('the CSI driver of these tests', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-csi-'))
  })
  after(() => rm(folder, { recursive: true }))

  it('passes the tests of CSI', async () => {
    const programs = await driverAndTests({ progress: silentProgress, signal: undefined })
    const env = { ...process.env, ...programs, folder }
    const { stdout } = await promisify(execFile)('unshare', ['--mount', 'sh', '-c', SCRIPT], { env })
    expect(stdout).to.match(/ 0 Failed/)
  })
})
