/** Mastra, the library in a minimal agent, with a scripted model: what the model is shown of mcpx. */
import { mastra } from './agents.ts';
import { describeClient } from './journey.ts';

describeClient(mastra);
