import { readFile } from 'node:fs/promises'
import { builtTool, type ToolSearch } from '../../scripts/controlplane/tool.ts'
import { builderImage } from '../../scripts/node/builderImage.ts'
import { packageImage } from '../../scripts/node/images.ts'
import { baseImages, engineImage, MARIADB } from '../../scripts/node/library.ts'
import { unpackedPackages } from '../../scripts/node/packages.ts'
import { NODE_LIBRARIES } from '../../scripts/node/platformImage.ts'
import { prometheusImage } from '../../scripts/node/prometheus.ts'
import { relationalEngineParts } from '../../scripts/node/relationalEngine.ts'
import { VELERO_PROGRAMS } from '../cluster/veleroServer.ts'
import { relationalBackupParts } from './barmanPlugin.ts'
import { driverAndTests, snapshotParts } from './csi.ts'
import { SHELL, WORKER } from './testImages.ts'
import { veleroParts } from './velero.ts'

type Make = (search: ToolSearch) => Promise<unknown>

const shell: Make = (search) => packageImage(SHELL, search)

/** What tests install, by the word in a test that requests it. */
const MADE_FOR: Readonly<Record<string, readonly Make[]>> = {
  installRelationalEngine: [relationalEngineParts],
  installRelationalBackups: [relationalBackupParts],
  driverAndTests: [driverAndTests],
  installSnapshots: [snapshotParts],
  installVeleroOnNode: [veleroParts],
  installPrometheus: [prometheusImage],
  installBackupStore: [shell],
  veleroOrSkip: VELERO_PROGRAMS.map((tool) => (search) => builtTool(tool, search)),
  pushLibrary: [baseImages, builderImage],
  pushEngines: [engineImage],
  pushShell: [shell],
  SHELL: [shell],
  WORKER: [(search) => packageImage(WORKER, search)],
  MARIADB: [(search) => packageImage(MARIADB, search)],
  Installation: [(search) => unpackedPackages(NODE_LIBRARIES, search)],
}

/** What a test needs, according to its text. */
export function neededBy(text: string): string[] {
  const words = new Set(text.match(/\w+/g))
  return Object.keys(MADE_FOR).filter((word) => words.has(word))
}

/**
 * Builds and downloads what the files need before their tests start: the first time takes minutes, which must not count
 * as a test's time. Failures are reported, and fail the tests that need it.
 */
export async function prepareFor(files: readonly string[], search: ToolSearch): Promise<void> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  const needed = new Set(texts.flatMap(neededBy).flatMap((word) => MADE_FOR[word] ?? []))
  // One after the other: each build uses all the cores.
  for (const make of needed)
    await make(search).catch((error: Error) => search.progress.note(`Not prepared: ${error.message}`))
}
