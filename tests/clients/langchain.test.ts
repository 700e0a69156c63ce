/** LangChain, the library in a minimal agent, with a scripted model: what the model is shown of mcpx. */
import { langChain } from './agents.ts';
import { describeClient } from './journey.ts';

describeClient(langChain);
