import { z } from 'zod'
import { ImageReference } from './containerFields.ts'
import { defineKind, type ObjectOf, READ_VERBS } from './define.ts'
import { ProcessText } from './environment.ts'
import {
  DateTime,
  Description,
  DisplayName,
  integerBetween,
  listMapOf,
  listSetOf,
  matching,
  PlainText,
} from './fields.ts'

export const RuntimeVersion = matching(32, /^[0-9a-z][0-9a-z.-]*$/, 'must be a version, such as 24 or 3.13')

const version = z.strictObject({
  version: RuntimeVersion.describe('Value for runtimeVersion'),
  isDefault: z.boolean().optional().describe('True for the runtime version of apps that name none'),
  status: z
    .enum(['Supported', 'Deprecated', 'Ended'])
    .optional()
    .describe('Supported if absent; new apps may not use an Ended one'),
  endsAt: DateTime.optional().describe('When upstream support ends; unknown if absent'),
  builderImage: ImageReference.describe('Image that code of this version is built in'),
})

/** A language that apps can be built with. Administrators change the offer with kubectl. */
export const AppRuntime = defineKind({
  group: 'compute',
  kind: 'AppRuntime',
  shortNames: ['apprt'],
  placement: 'cluster',
  area: 'apps',
  open: READ_VERBS,
  description: 'A language that apps are built with, and its versions.',
  spec: z.strictObject({
    title: DisplayName.max(64).describe('Name for people'),
    description: Description.default(''),
    versions: listMapOf('version', version, 30).min(1).describe('Offered versions, newest first'),
    detects: listSetOf(PlainText.min(1).max(128), 20)
      .default([])
      .describe('Files by which a repository is recognised, such as package.json'),
    defaultStartCommand: ProcessText.max(1024).default('').describe('Default start command of apps'),
    defaultPort: integerBetween(1, 65_535).default(8080).describe('Port that such an app listens on'),
  }),
  status: z.object({}),
  columns: [
    { name: 'Title', path: '.spec.title' },
    { name: 'Newest', path: '.spec.versions[0].version' },
    { name: 'Default', path: '.spec.versions[?(@.isDefault==true)].version' },
  ],
})
export type AppRuntime = ObjectOf<typeof AppRuntime>
