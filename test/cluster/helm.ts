import type { Context } from 'mocha'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { builtTool, isToolBuilt, type Tool } from '../../scripts/controlplane/tool.ts'
import { TEST_CONFIG } from '../config.ts'

const TOOL = { folder: 'helm', package: 'helm.sh/helm/v3/cmd/helm', name: 'helm' } as const satisfies Tool

/** The path of Helm; if it is not cached, only a full run builds it. @throws Error if it cannot be built */
export async function helmOrSkip(test: Context): Promise<string> {
  if (TEST_CONFIG.sized(0, 1) !== 1 && !(await isToolBuilt(TOOL))) {
    console.log('    skipped: Helm is not built; `npm run faults` builds it')
    test.skip()
  }
  return builtTool(TOOL, { progress: silentProgress, signal: undefined })
}
